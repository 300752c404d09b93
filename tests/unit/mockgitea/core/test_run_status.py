"""Aggregated statuses, per order of precedence."""

import itertools

import pytest

from actionswire.result import Status
from mockgitea.core.profiles import RunStatusRule
from mockgitea.core.run_status import aggregate, counted

S, F, C, K = Status.SUCCESS, Status.FAILURE, Status.CANCELLED, Status.SKIPPED
W, R, B, X = Status.WAITING, Status.RUNNING, Status.BLOCKED, Status.CANCELLING
NEW, MID, FORGEJO = RunStatusRule.GITEA_1_27, RunStatusRule.GITEA_1_25, RunStatusRule.FORGEJO


@pytest.mark.parametrize("rule", [NEW, MID, FORGEJO])
def test_aggregate_all_skipped_and_all_good(rule: RunStatusRule) -> None:
    assert aggregate([K, K], rule) is K
    assert aggregate([S, K], rule) is S
    assert aggregate([S, S], rule) is S
    assert aggregate([], rule) is Status.UNKNOWN


@pytest.mark.parametrize(
    ("rule", "order"),
    [(NEW, (X, R, W, B, C, F)), (MID, (C, R, W, F, B)), (FORGEJO, (C, F, R, W, B))],
)
def test_aggregate_first_status_in_the_order_wins(rule: RunStatusRule, order: tuple[Status, ...]) -> None:
    for first, second in itertools.combinations(order, 2):
        assert aggregate([second, S, first, K], rule) is first


@pytest.mark.parametrize("rule", [RunStatusRule.GITEA_1_20, RunStatusRule.GITEA_1_21])
@pytest.mark.parametrize(
    ("statuses", "whole"),
    [
        ([S, C], F), ([S, F], F), ([S, K], S), ([K], S), ([W, B], W), ([W], W), ([S, W], R), ([R, W], R), ([B, F], R),
    ],
)  # fmt: skip
def test_aggregate_before_1_23(rule: RunStatusRule, statuses: list[Status], whole: Status) -> None:
    assert aggregate(statuses, rule) is whole


def test_counted_tolerated_failure_is_a_success_on_new_servers_only() -> None:
    assert counted(F, NEW, continues_on_error=True) is S
    assert counted(F, MID, continues_on_error=True) is F
    assert counted(C, NEW, continues_on_error=True) is C
    assert counted(F, NEW, continues_on_error=False) is F
