"""Strict reading of mappings from YAML: every value is asked for by name, and what nobody asked for is an error."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

TEXT_CHARS_MAX = 1_000


class ScenarioError(ValueError):
    """A scenario is wrong; the text begins with the path of the field and says what to write instead."""


class Fields:
    """One mapping of a scenario, read field by field and then finished.

    Args:
        values: the mapping.
        place: its path in the file, empty at the top.
    """

    def __init__(self, values: Mapping[str, Any], place: str) -> None:
        self._values = values
        self._place = place
        self._asked: set[str] = set()

    @classmethod
    def of(cls, value: object, place: str) -> Self:
        """Wrap a value that must be a mapping with text keys."""
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise ScenarioError(f"{place or 'scenario'}: must be a mapping of names to values")
        return cls(value, place)

    def path(self, name: str) -> str:
        """Return the path of one of this mapping's fields."""
        return f"{self._place}.{name}" if self._place else name

    def names(self) -> list[str]:
        """Return the names that are there, in order."""
        return list(self._values)

    def finish(self) -> None:
        """Refuse names that nobody asked for."""
        for name in self._values:
            if name not in self._asked:
                known = ", ".join(sorted(self._asked))
                raise ScenarioError(f"{self.path(name)}: unknown field; choose one of {known}")

    def text(self, name: str, *, default: str | None = None) -> str:
        """Return a text."""
        value = self._value(name, default)
        if not isinstance(value, str) or len(value) > TEXT_CHARS_MAX or (not value and default is None):
            raise ScenarioError(f"{self.path(name)}: must be a text of at most {TEXT_CHARS_MAX} characters")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; empty when absent."""
        value = self._value(name, ())
        if not isinstance(value, Sequence) or isinstance(value, str) or not all(isinstance(one, str) for one in value):
            raise ScenarioError(f"{self.path(name)}: must be a list of texts")
        return tuple(value)

    def choice(self, name: str, choices: Sequence[str], *, default: str | None = None) -> str:
        """Return one of a few words."""
        value = self._value(name, default)
        if value not in choices:
            raise ScenarioError(f"{self.path(name)}: {value!r} is none of {', '.join(choices)}")
        return str(value)

    def flag(self, name: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self._value(name, default)
        if not isinstance(value, bool):
            raise ScenarioError(f"{self.path(name)}: must be true or false")
        return value

    def number(self, name: str, *, minimum: int, maximum: int, default: int | None = None) -> int:
        """Return a whole number within limits."""
        value = self._value(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= maximum:
            raise ScenarioError(f"{self.path(name)}: must be a whole number from {minimum} to {maximum}")
        return value

    def seconds(self, name: str, *, minimum: float, maximum: float, default: float | None = None) -> float:
        """Return a number within limits, as a float."""
        value = self._value(name, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            raise ScenarioError(f"{self.path(name)}: must be a number")
        if not minimum <= value <= maximum:
            raise ScenarioError(f"{self.path(name)}: must be between {minimum:g} and {maximum:g}")
        return float(value)

    def micros(self, name: str, *, maximum: float, default: float | None = None) -> int:
        """Return seconds as microseconds."""
        return round(self.seconds(name, minimum=0, maximum=maximum, default=default) * 1e6)

    def whole_seconds(self, name: str, *, minimum: int, maximum: float, default: int | None = None) -> int:
        """Return whole seconds as microseconds; counts per second need borders on seconds."""
        return self.number(name, minimum=minimum, maximum=int(maximum), default=default) * 1_000_000

    def mapping(self, name: str) -> dict[str, Any]:
        """Return a mapping as it stands; empty when absent."""
        return dict(Fields.of(self._value(name, {}), self.path(name))._values)

    def section(self, name: str, *, is_optional: bool = False) -> "Fields":
        """Return a mapping to be read field by field; empty when absent and optional."""
        return Fields.of(self._value(name, {} if is_optional else None), self.path(name))

    def sections(self, name: str, *, minimum: int = 0, maximum: int = 1_000) -> "Iterator[Fields]":
        """Yield a list of mappings."""
        value = self._value(name, () if minimum == 0 else None)
        if not isinstance(value, Sequence) or isinstance(value, str) or not minimum <= len(value) <= maximum:
            raise ScenarioError(f"{self.path(name)}: must be a list of {minimum} to {maximum} mappings")
        for place, one in enumerate(value):
            yield Fields.of(one, f"{self.path(name)}[{place}]")

    def mappings(self, name: str, *, maximum: int = 1_000) -> list[dict[str, Any]]:
        """Return a list of mappings as they stand; empty when absent."""
        return [dict(one._values) for one in self.sections(name, maximum=maximum)]

    def _value(self, name: str, default: Any) -> Any:
        self._asked.add(name)
        value = self._values.get(name, default)
        if value is None:
            raise ScenarioError(f"{self.path(name)}: is missing")
        return value
