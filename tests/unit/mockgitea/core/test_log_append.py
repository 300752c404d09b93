"""The table of UpdateLog cases, row by row, for both rules."""

import pytest

from mockgitea.core.log_append import LogVerdict, judge
from mockgitea.core.profiles import LogSealRule

OLD, NEW = LogSealRule.WITH_ROWS, LogSealRule.ALSO_EMPTY


@pytest.mark.parametrize("rule", [OLD, NEW])
@pytest.mark.parametrize(
    ("held", "sealed", "index", "count", "no_more", "verdict"),
    [
        (0, False, 0, 3, False, LogVerdict(0, 3, 3)),
        (3, False, 2, 2, False, LogVerdict(1, 1, 4)),
        (3, False, 0, 3, False, LogVerdict(3, 0, 3)),
        (3, False, 5, 1, False, LogVerdict(1, 0, 3)),
        (3, False, 5, 1, True, LogVerdict(1, 0, 3)),
        (3, False, 3, 0, False, LogVerdict(0, 0, 3)),
        (3, False, 3, 2, True, LogVerdict(0, 2, 5, seals=True)),
        (3, True, 0, 2, True, LogVerdict(2, 0, 3)),
        (3, True, 3, 0, True, LogVerdict(0, 0, 3)),
        (3, True, 3, 1, False, LogVerdict(1, 0, 3, is_refused=True)),
        (0, False, -1, 3, False, LogVerdict(1, 2, 2)),
    ],
    ids=str,
)
def test_judge_cases_common_to_both_rules(
    rule: LogSealRule, held: int, sealed: bool, index: int, count: int, no_more: bool, verdict: LogVerdict
) -> None:
    assert judge(held=held, sealed=sealed, index=index, count=count, no_more=no_more, rule=rule) == verdict


@pytest.mark.parametrize(("index", "count"), [(3, 0), (0, 3), (1, 1), (0, 0)])
def test_judge_final_call_without_fresh_rows_seals_on_new_servers_only(index: int, count: int) -> None:
    for rule, seals in ((OLD, False), (NEW, True)):
        verdict = judge(held=3, sealed=False, index=index, count=count, no_more=True, rule=rule)
        assert (verdict.seals, verdict.ack_index, verdict.take) == (seals, 3, 0)
