"""Read the configuration file: what it says beside the defaults, checked against the table of keys.

Unknown keys are warnings with the closest known name; wrong types, units and contradictions are errors that name the
key. Knows nothing of what a value is for.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn, cast

import yaml

from actionsrunner.settings import BY_NAME, FORGEJO_KEYS, IDLE_SECTIONS, KEYS, Key, Kind
from actionsrunner.strategy_table import OWN_DEFAULTS, POLL, POLL_KEYS, PRESETS, REPORT, REPORT_KEYS
from actionsrunner.units import parse_duration, parse_size

FETCH_TIMEOUT_MAX_S: Final = 60.0
"""No call may take longer, whatever the configuration says."""


class ConfigInvalid(Exception):
    """The configuration cannot be used; the text names each key and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Config:
    """Checked values by key: durations as seconds, sizes as bytes. ``warnings`` are for the operator."""

    values: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    given: frozenset[str] = field(default_factory=frozenset)
    """Keys that the file sets."""

    def text(self, name: str) -> str:
        """Return the value of a text or choice."""
        return cast("str", self._get(name, Kind.TEXT, Kind.CHOICE))

    def flag(self, name: str) -> bool:
        """Return the value of a flag."""
        return cast("bool", self._get(name, Kind.FLAG))

    def count(self, name: str) -> int:
        """Return the value of a count."""
        return cast("int", self._get(name, Kind.COUNT))

    def seconds(self, name: str) -> float:
        """Return the value of a duration."""
        return cast("float", self._get(name, Kind.DURATION))

    def micros(self, name: str) -> int:
        """Return the value of a duration in microseconds."""
        return round(self.seconds(name) * 1_000_000)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the value of a list."""
        return cast("tuple[str, ...]", self._get(name, Kind.LIST))

    def map(self, name: str) -> dict[str, str]:
        """Return the value of a map."""
        return dict(cast("Mapping[str, str]", self._get(name, Kind.MAP)))

    def _get(self, name: str, *kinds: Kind) -> Any:
        key = BY_NAME[name]
        assert key.kind in kinds, f"{name} is a {key.kind.value}"
        return self.values[name]


def load_config(path: Path | None) -> Config:
    """Return the configuration of ``path``, or the defaults without one.

    Raises:
        ConfigInvalid: the file is missing, is no YAML, or says something impossible.
    """
    if path is None:
        return parse_config("", "defaults")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigInvalid(f"{path}: cannot be read: {error}") from error
    return parse_config(text, str(path))


def parse_config(text: str, source: str) -> Config:
    """Return the configuration written in ``text``; ``source`` names it in errors."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigInvalid(f"{source}: not valid YAML: {' '.join(str(error).split())}") from error
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise ConfigInvalid(f"{source}: expected sections such as `runner:`, found a {type(data).__name__}")
    values = {key.name: check_value(key, key.default) for key in KEYS}
    errors: list[str] = []
    warnings: list[str] = []
    given: set[str] = set()
    for name, raw in _flatten(data):
        key = BY_NAME.get(name)
        if key is None:
            warnings.append(_explain_unknown(name))
            continue
        if raw is None:
            continue
        given.add(name)
        try:
            values[name] = check_value(key, raw)
        except ValueError as error:
            errors.append(f"`{name}`: {error}")
        if key.idle and raw != key.default:
            warnings.append(f"`{name}` has no effect: {key.idle}")
    if errors:
        raise ConfigInvalid(f"{source}: " + "; ".join(errors))
    warnings.extend(_oddities(values))
    warnings.extend(_unheard(values, given))
    return Config(values, tuple(warnings), frozenset(given))


def _flatten(data: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for raw_name, value in data.items():
        name = f"{prefix}{raw_name}"
        is_section = not (name in BY_NAME or name in FORGEJO_KEYS or name in IDLE_SECTIONS)
        if is_section and isinstance(value, Mapping):
            yield from _flatten(value, f"{name}.")
        elif not (is_section and value is None and any(known.startswith(f"{name}.") for known in BY_NAME)):
            yield name, value


def _explain_unknown(name: str) -> str:
    if name in FORGEJO_KEYS:
        return f"`{name}` of Forgejo's runner has no effect: {FORGEJO_KEYS[name]}"
    if name in IDLE_SECTIONS:
        return f"`{name}` has no effect: {IDLE_SECTIONS[name]}"
    close = difflib.get_close_matches(name, BY_NAME, n=1, cutoff=0.7)
    hint = f"; did you mean `{close[0]}`?" if close else ""
    return f"unknown key `{name}`{hint}"


def check_value(key: Key, raw: Any) -> Any:
    """Return the value that ``raw`` stands for.

    Raises:
        ValueError: it is not of the key's kind, or out of its bounds.
    """
    return _CHECKS[key.kind](key, raw)


def _check_text(key: Key, raw: Any) -> str:
    return raw if isinstance(raw, str) else _mistyped(key, raw)


def _check_choice(key: Key, raw: Any) -> str:
    if not isinstance(raw, str) or raw not in key.choices:
        raise ValueError(f"{raw!r} is none of {', '.join(key.choices)}")
    return raw


def _check_flag(key: Key, raw: Any) -> bool:
    return raw if isinstance(raw, bool) else _mistyped(key, raw)


def _check_count(key: Key, raw: Any) -> int:
    if not isinstance(raw, int) or isinstance(raw, bool):
        _mistyped(key, raw)
    return int(_bounded(key, raw))


def _check_duration(key: Key, raw: Any) -> float:
    if isinstance(raw, str):
        return _bounded(key, parse_duration(raw))
    if isinstance(raw, bool) or not isinstance(raw, (int, float)):
        _mistyped(key, raw)
    if raw != 0:
        raise ValueError(f"{raw!r} has no unit; write for example {raw}s")
    return _bounded(key, 0.0)


def _check_size(key: Key, raw: Any) -> int:
    if isinstance(raw, bool) or not isinstance(raw, (str, int)):
        _mistyped(key, raw)
    return parse_size(str(raw))


def _check_list(key: Key, raw: Any) -> tuple[str, ...]:
    if not isinstance(raw, list) or not all(isinstance(item, str) for item in raw):
        _mistyped(key, raw)
    if not all(item.strip() for item in raw):
        raise ValueError("an entry is empty")
    return tuple(raw)


def _check_map(key: Key, raw: Any) -> dict[str, str]:
    if not isinstance(raw, dict) or any(isinstance(value, (dict, list)) for value in raw.values()):
        _mistyped(key, raw)
    return {str(name): _plain(value) for name, value in raw.items()}


_CHECKS: Final[dict[Kind, Callable[[Key, Any], Any]]] = {
    Kind.TEXT: _check_text,
    Kind.CHOICE: _check_choice,
    Kind.FLAG: _check_flag,
    Kind.COUNT: _check_count,
    Kind.DURATION: _check_duration,
    Kind.SIZE: _check_size,
    Kind.LIST: _check_list,
    Kind.MAP: _check_map,
}


def _mistyped(key: Key, raw: Any) -> NoReturn:
    raise ValueError(f"expected a {key.kind.value}, found {raw!r}")


def _plain(value: Any) -> str:
    """Return a scalar as it was written in the file, near enough."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _bounded(key: Key, number: float) -> float:
    unit = "s" if key.kind is Kind.DURATION else ""
    if number < key.least:
        raise ValueError(f"must be at least {key.least:g}{unit}")
    if key.most is not None and number > key.most:
        raise ValueError(f"must be at most {key.most:g}{unit}")
    return number


def _oddities(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield what Gitea's runner accepts although the values contradict each other, and what it makes of it."""
    if values["runner.fetch_interval_max"] < values["runner.fetch_interval"]:
        yield "`runner.fetch_interval_max` is below `runner.fetch_interval` and is raised to it"
    if values["runner.fetch_timeout"] > FETCH_TIMEOUT_MAX_S:
        yield f"`runner.fetch_timeout` is above {FETCH_TIMEOUT_MAX_S:g}s and counts as that"
    if values["runner.log_report_max_latency"] > values["runner.log_report_interval"]:
        yield "`runner.log_report_max_latency` is above `runner.log_report_interval` and so never comes into play"


def _unheard(values: Mapping[str, Any], given: Set[str]) -> Iterator[str]:
    """Yield the keys that the chosen way to poll or to report ignores, or that make a specimen less like itself."""
    preset = PRESETS[values["runner.preset"]]
    for part, chosen, takes, keys in (
        ("poll", preset.poll, POLL, POLL_KEYS),
        ("report", preset.report, REPORT, REPORT_KEYS),
    ):
        name = values[f"runner.{part}.strategy"] if f"runner.{part}.strategy" in given else chosen
        for option, key in keys.items():
            # The time that a job may take is not only a limit on its reports.
            if key not in given or key == "runner.timeout":
                continue
            own = OWN_DEFAULTS.get(name, {}).get(option)
            if option not in takes[name]:
                if values[key] != check_value(BY_NAME[key], BY_NAME[key].default):
                    yield f"`{key}` has no effect with the {part} strategy {name}"
            elif own is not None and values[key] != check_value(BY_NAME[key], own):
                yield f"`{key}` overrides the {own} that {name} has by itself"
