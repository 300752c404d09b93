"""The public case table of the expression language, every row through the evaluator."""

import json
from pathlib import Path
from typing import Any

import pytest

from actionswire.expressions import ExpressionError, Scope, evaluate

CASES = json.loads((Path(__file__).parents[3] / "data" / "expression-cases.json").read_text(encoding="utf-8"))
NAMES = ("github", "env", "vars", "secrets", "job", "steps", "runner", "strategy", "matrix", "needs", "inputs")


def scope_of(case: dict[str, Any]) -> Scope:
    """Every context of a step is known; those that the case does not give are empty."""
    contexts = dict.fromkeys(NAMES) | case.get("context", {})
    status = (contexts["job"] or {}).get("status", "success")
    answers = {"success": status == "success", "failure": status == "failure", "cancelled": status == "cancelled"}
    return Scope(contexts, status=lambda name: name == "always" or answers[name], hash_files=lambda patterns: "")


def test_case_table_is_complete() -> None:
    assert len(CASES) == 741


@pytest.mark.parametrize("case", CASES, ids=[f"{number}: {case['expr']}" for number, case in enumerate(CASES)])
def test_case_gives_the_recorded_result(case: dict[str, Any]) -> None:
    if case.get("error"):
        with pytest.raises(ExpressionError) as caught:
            evaluate(case["expr"], scope_of(case))
        assert 1 <= caught.value.position <= len(case["expr"]) + 1
        assert caught.value.expression == case["expr"]
        return
    result = evaluate(case["expr"], scope_of(case))
    assert result == case["result"]
    assert isinstance(result, bool) is isinstance(case["result"], bool), "1 and true are equal in Python only"
