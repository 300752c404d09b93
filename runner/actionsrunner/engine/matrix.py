"""Expansion of `strategy.matrix` into combinations. Pure.

A server sends exactly one combination (each key a list of one); expanding anyway keeps hand-written payloads working.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Final

from actionswire.expressions import Value

COMBINATIONS_MAX: Final = 256
"""GitHub's and Gitea's limit for one job."""


class MatrixError(Exception):
    """A matrix that cannot be expanded; the text names the key."""


def expand_matrix(matrix: Value) -> list[dict[str, Value]]:
    """List the combinations of an evaluated `strategy.matrix`.

    Args:
        matrix: a mapping of key to list, with optional ``include`` and ``exclude`` lists of mappings; None for none.

    Returns:
        The combinations in order; a single empty one when there is no matrix.

    Raises:
        MatrixError: wrong types, no combination left, or more than COMBINATIONS_MAX.
    """
    if matrix is None or matrix == {}:
        return [{}]
    if not isinstance(matrix, Mapping):
        raise MatrixError("strategy.matrix must be a mapping of names to lists")
    axes = {key: _axis(key, value) for key, value in matrix.items() if key not in ("include", "exclude")}
    size = 1
    for values in axes.values():
        size *= len(values)
    if size > COMBINATIONS_MAX:
        raise MatrixError(f"strategy.matrix has {size} combinations, at most {COMBINATIONS_MAX} are possible")
    combinations = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())] if axes else []
    excluded = _entries(matrix, "exclude")
    kept = [one for one in combinations if not any(_matches(one, entry) for entry in excluded)]
    expanded = _include(kept, _entries(matrix, "include"), axes)
    if not expanded:
        raise MatrixError("strategy.matrix has no combination")
    return expanded


def _axis(key: str, value: Value) -> Sequence[Value]:
    if not isinstance(value, list):
        raise MatrixError(f"strategy.matrix.{key} must be a list")
    return value


def _entries(matrix: Mapping[str, Value], key: str) -> list[Mapping[str, Value]]:
    entries = matrix.get(key) or []
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise MatrixError(f"strategy.matrix.{key} must be a list of mappings")
    return entries


def _matches(combination: Mapping[str, Value], wanted: Mapping[str, Value]) -> bool:
    return all(key in combination and combination[key] == value for key, value in wanted.items())


def _include(
    kept: list[dict[str, Value]], extras: list[Mapping[str, Value]], axes: Mapping[str, Sequence[Value]]
) -> list[dict[str, Value]]:
    result = [dict(one) for one in kept]
    for extra in extras:
        # Only the matrix's own keys decide; values that an earlier `include` added may be overwritten.
        hosts = [
            grown
            for one, grown in zip(kept, result, strict=False)
            if all(one[key] == value for key, value in extra.items() if key in axes)
        ]
        for grown in hosts:
            grown.update(extra)
        if not hosts:
            result.append(dict(extra))
    return result
