from typing import Any

import pytest

from actionsrunner.engine.matrix import COMBINATIONS_MAX, MatrixError, expand_matrix


@pytest.mark.parametrize(
    ("matrix", "combinations"),
    [
        (None, [{}]),
        ({}, [{}]),
        ({"os": ["a"], "n": [1]}, [{"os": "a", "n": 1}]),
        ({"os": ["a", "b"], "n": [1, 2]}, [{"os": o, "n": n} for o in "ab" for n in (1, 2)]),
        ({"os": ["a", "b"], "exclude": [{"os": "a"}]}, [{"os": "b"}]),
        ({"os": ["a", "b"], "exclude": [{"os": "a", "n": 1}]}, [{"os": "a"}, {"os": "b"}]),
        ({"include": [{"x": 1}, {"x": 2}]}, [{"x": 1}, {"x": 2}]),
        ({"os": ["a", "b"], "include": [{"os": "a", "x": 1}]}, [{"os": "a", "x": 1}, {"os": "b"}]),
        ({"os": ["a"], "include": [{"x": 1}, {"x": 2}]}, [{"os": "a", "x": 2}]),
        ({"os": ["a"], "include": [{"os": "c"}]}, [{"os": "a"}, {"os": "c"}]),
        ({"v": [{"deep": [1]}, None, True]}, [{"v": {"deep": [1]}}, {"v": None}, {"v": True}]),
    ],
)
def test_expand_matrix_lists_combinations(matrix: Any, combinations: list[dict[str, Any]]) -> None:
    assert expand_matrix(matrix) == combinations


@pytest.mark.parametrize(
    ("matrix", "part"),
    [
        ("text", "must be a mapping"),
        ({"os": "a"}, "strategy.matrix.os must be a list"),
        ({"os": []}, "no combination"),
        ({"os": ["a"], "exclude": [{"os": "a"}]}, "no combination"),
        ({"os": ["a"], "include": "x"}, "strategy.matrix.include"),
        ({"os": ["a"], "exclude": ["x"]}, "strategy.matrix.exclude"),
        ({"a": list(range(100)), "b": list(range(100))}, str(COMBINATIONS_MAX)),
    ],
)
def test_expand_matrix_refuses(matrix: Any, part: str) -> None:
    with pytest.raises(MatrixError) as caught:
        expand_matrix(matrix)
    assert part in str(caught.value)
