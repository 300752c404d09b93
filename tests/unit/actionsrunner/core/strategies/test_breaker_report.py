"""The circuit breaker over a way to report."""

import random

import pytest

from actionsrunner.core.failures import Failure
from actionsrunner.core.reporter import EventReporter, ReportPolicy
from actionsrunner.core.reporting import Ending, Retry, SendLog, SendState
from actionsrunner.core.strategies.breaker import BreakerPolicy
from actionsrunner.core.strategies.breaker_report import ReportBreaker
from actionsrunner.core.strategies.change_report import ChangePolicy, ChangeReporter
from actionsrunner.core.strategies.round_report import RoundPolicy, RoundReporter
from reportbench import ReportBench, fail

POLICY = BreakerPolicy(threshold=4, cooldown_us=30_000_000, jitter=False)


def rounds(react: object) -> ReportBench:
    inner = RoundReporter(RoundPolicy(), random.Random(1))
    return ReportBench(ReportBreaker(inner, POLICY, random.Random(1)), react)  # type: ignore[arg-type]  # a reaction


def test_closed_breaker_changes_nothing() -> None:
    job = rounds(lambda at_s, call: None)
    job.until(4.5)
    assert len(job.calls) == 10


def test_breaker_opens_at_the_threshold_and_probes_after_each_cooldown() -> None:
    job = rounds(fail(start_s=10, end_s=60))
    job.until(75)
    # Two failed rounds open it at 11 s; the probe of 41 s fails, that of 71 s succeeds, and the rounds go on.
    assert job.count(10, 75) == 4 + 1 + 2 * 4
    assert [at_s for at_s, _ in job.calls if at_s > 11][:2] == [41, 71]


@pytest.mark.parametrize("failure", [Failure.TASK_GONE, Failure.LOG_SEALED, Failure.REFUSED])
def test_answers_of_a_working_server_are_no_errors(failure: Failure) -> None:
    job = rounds(fail(failure))
    job.until(19.5)
    assert len(job.calls) == 40


@pytest.mark.parametrize(
    "inner",
    [
        ChangeReporter(ChangePolicy(), random.Random(1)),
        EventReporter(ReportPolicy(retry=Retry.EVERY_ROW), random.Random(1)),
    ],
    ids=["event-driven", "current"],
)
def test_breaker_ends_the_storm_of_retries(inner: object) -> None:
    job = ReportBench(ReportBreaker(inner, POLICY, random.Random(1)), fail(start_s=5))  # type: ignore[arg-type]  # either
    job.log_every(0.02, 65)
    assert job.count(20, 65) <= 3


def test_closing_calls_pass_an_open_breaker() -> None:
    job = rounds(fail(start_s=10, end_s=20.5))
    job.until(20.6)
    job.rows(3)
    assert job.close() is Ending.DELIVERED
    assert (job.count(20.5, 30, SendLog), job.count(20.5, 30, SendState)) == (2, 1)
