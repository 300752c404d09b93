import pytest

from actionswire.codes import Code
from mockgitea.core.calls import OUTCOME_OF_CODE, Outcome, outcome_of_status


def test_every_code_has_an_outcome_of_the_same_name() -> None:
    assert {code: outcome.value for code, outcome in OUTCOME_OF_CODE.items()} == {code: code.value for code in Code}


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, Outcome.OK), (201, Outcome.OK), (303, Outcome.OK), (400, Outcome.INVALID_ARGUMENT),
        (401, Outcome.UNAUTHENTICATED), (404, Outcome.NOT_FOUND), (418, Outcome.FAILED_PRECONDITION),
        (500, Outcome.INTERNAL), (502, Outcome.INTERNAL), (503, Outcome.UNAVAILABLE),
    ],
)  # fmt: skip
def test_outcome_of_status_covers_every_class(status: int, outcome: Outcome) -> None:
    assert outcome_of_status(status) is outcome
