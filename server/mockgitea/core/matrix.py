"""Matrix combinations: cross product, exclude, include, order and the names they give to jobs.

Works on plain values; expressions are evaluated before. Every combination is a mapping of key to value.
Source: docs/workflows.md, "Matrix".
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from actionswire.expressions import Value
from actionswire.expressions.values import is_array, is_number, is_object
from mockgitea.core.errors import InvalidInput
from mockgitea.core.workflow_fields import kind_of

Combination: TypeAlias = dict[str, Value]

MATRIX_COMBINATIONS_MAX: Final = 256
"""GitHub's documented limit; it keeps one line of a workflow from filling the queue."""


def expand_matrix(matrix: Value, field: str) -> tuple[Combination, ...]:
    """Expand an evaluated `strategy.matrix` into its combinations, sorted by name.

    Args:
        matrix: the value under `strategy.matrix`, without expressions.
        field: its path, for refusals.

    Returns:
        1..MATRIX_COMBINATIONS_MAX combinations.

    Raises:
        InvalidInput: not a mapping, an axis that is no list or empty, nothing left, or too many combinations.
    Source: docs/workflows.md, "Matrix".
    """
    if not is_object(matrix):
        raise InvalidInput(f"{field}: must be a mapping of names to lists, not {kind_of(matrix)}", field=field)
    axes = {key: _axis(value, f"{field}.{key}") for key, value in matrix.items() if key not in ("include", "exclude")}
    excluded = _entries(matrix.get("exclude"), f"{field}.exclude")
    included = _entries(matrix.get("include"), f"{field}.include")
    _check_excluded(excluded, axes, f"{field}.exclude")
    size = math.prod(len(values) for values in axes.values()) if axes else 0
    _check_size(size, field)
    product = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())] if axes else []
    kept = [combination for combination in product if not any(_covers(combination, entry) for entry in excluded)]
    combinations = _include(kept, included, frozenset(axes))
    _check_size(len(combinations), field)
    if not combinations:
        raise InvalidInput(
            f"{field}: leaves no combination; give it at least one value that is not excluded", field=field
        )
    return tuple(sorted(combinations, key=matrix_name))


def matrix_name(combination: Mapping[str, Value]) -> str:
    """Return the suffix of a job's name: ``(v1, v2)``, values in the order of the sorted keys."""
    return f"({', '.join(go_text(combination[key]) for key in sorted(combination))})"


def go_text(value: Value) -> str:
    """Write a value the way the servers' own language prints it inside a job name."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _go_float(value)
    if is_object(value):
        return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    if is_array(value):
        return f"[{' '.join(go_text(item) for item in value)}]"
    return str(value)


def same(left: Value, right: Value) -> bool:
    """Compare two YAML values; unlike Python's, booleans are no numbers here."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if is_number(left) and is_number(right):
        return left == right
    if is_array(left) and is_array(right):
        return len(left) == len(right) and all(map(same, left, right))
    if is_object(left) and is_object(right):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return type(left) is type(right) and left == right


def _go_float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return repr(value)


def _axis(value: Value, field: str) -> Sequence[Value]:
    if not is_array(value):
        raise InvalidInput(f"{field}: must be a list of values, not {kind_of(value)}; write [value]", field=field)
    if not value:
        raise InvalidInput(f"{field}: is an empty list; give it at least one value", field=field)
    return value


def _entries(value: Value, field: str) -> Sequence[Mapping[str, Value]]:
    if value is None:
        return ()
    if not is_array(value):
        raise InvalidInput(f"{field}: must be a list of mappings, not {kind_of(value)}", field=field)
    _check_size(len(value), field)
    entries: list[Mapping[str, Value]] = []
    for index, entry in enumerate(value):
        if not is_object(entry) or not entry:
            raise InvalidInput(f"{field}[{index}]: must be a mapping of names to values", field=f"{field}[{index}]")
        entries.append(entry)
    return entries


def _check_excluded(excluded: Sequence[Mapping[str, Value]], axes: Mapping[str, Value], field: str) -> None:
    for index, entry in enumerate(excluded):
        for key in entry:
            if key not in axes:
                known = ", ".join(axes) or "none"
                raise InvalidInput(
                    f"{field}[{index}].{key}: no such matrix key; the matrix has: {known}",
                    field=f"{field}[{index}].{key}",
                )


def _check_size(size: int, field: str) -> None:
    if size > MATRIX_COMBINATIONS_MAX:
        raise InvalidInput(
            f"{field}: makes {size} combinations, more than {MATRIX_COMBINATIONS_MAX}; split the job", field=field
        )


def _covers(combination: Mapping[str, Value], entry: Mapping[str, Value]) -> bool:
    return all(same(combination[key], value) for key, value in entry.items())


def _include(
    kept: Sequence[Combination], included: Sequence[Mapping[str, Value]], axes: frozenset[str]
) -> list[Combination]:
    """Extend the combinations that an entry does not contradict on an axis; an entry without any is a new one."""
    extended = [dict(combination) for combination in kept]
    added: list[Combination] = []
    for entry in included:
        fixed = {key: value for key, value in entry.items() if key in axes}
        matching = [index for index, combination in enumerate(kept) if _covers(combination, fixed)]
        for index in matching:
            extended[index].update(entry)
        if not matching:
            added.append(dict(entry))
    return extended + added
