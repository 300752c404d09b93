"""Judges a story of downtime in virtual time: ends, logs, executions, lost answers, rates and recovery."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

from actionswire.result import Result
from downtimechecks import FINAL, SECOND_US, busiest_second, check_audit, check_log, count_between
from downtimevirtual import HEALTHY_S, RUNNERS, WINDOW_S_MAX, Story
from mockgitea.lab.outages import Outage
from virtualjobs import Execution

FETCH = "/FetchTask"
POLLS_S = (2.0, 4.0, 5.0)
"""Waits after the first, second and every further failed poll in a row, 20 % more or less."""
JITTER = 0.2
RATE_RATIO_MAX = 1.5
CLOSING_CALLS_MAX = 20
"""Ten tries of each of the two closing calls; they grow apart, so jobs that end together make these at most."""
SURGE_CALLS_MAX = 3
"""Of each runner and of each running task in the busiest second afterwards."""
RECOVERY_S_MAX = 12.0
"""The longest wait of a poll or report after a failure, and a heartbeat's."""
CLOSING_RECOVERY_S_MAX = 32.0
"""The longest wait between two tries of a closing call, for a runner that does nothing else."""
AFTER_US = 30 * SECOND_US
"""How long after a window a surge is looked for."""


def judge(story: Story) -> None:
    """Raise `AssertionError` with the first thing that is wrong."""
    _check_executions(story)
    _check_ends(story)
    _check_logs(story)
    _check_lost_fetches(story)
    for outage in story.outages:
        _check_polls(story, outage)
        _check_rates(story, outage)
        _check_recovery(story, outage)
    unheard = [execution.task for execution in story.executions if not certain(story, execution)]
    check_audit(story.calls, heartbeat_s=2 * WINDOW_S_MAX, unheard=unheard)


def certain(story: Story, execution: Execution) -> bool:
    """Tell whether the runner had to get the end of this job through: one window at most, within its budget."""
    if execution.ended_us is None:
        return False
    budget_us = round(story.plan.budget_s * SECOND_US)
    # A call in flight has two budgets to settle, then come the rest of the log and the result with one each.
    until_us = execution.ended_us + 4 * budget_us
    near = [one for one in story.outages if one.start_us < until_us and one.end_us > execution.ended_us - SECOND_US]
    return len(near) <= 1 and all(one.end_us - one.start_us < 0.9 * budget_us for one in near)


def _check_executions(story: Story) -> None:
    times_run = Counter(execution.task for execution in story.executions)
    assert all(count == 1 for count in times_run.values()), f"a task ran twice: {times_run}"
    by_job = Counter(execution.run for execution in story.executions)
    assert all(count == 1 for count in by_job.values()), f"a job ran twice: {by_job}"


def _check_ends(story: Story) -> None:
    by_run = {execution.run: execution for execution in story.executions}
    for job in story.jobs:
        assert job.status in FINAL, f"run {job.run} has not ended: {job.status}"
        execution = by_run.get(job.run)
        if execution is None:
            assert job.status == "failure", f"run {job.run} never ran and is {job.status}"
        elif certain(story, execution):
            assert job.status == "success", f"task {execution.task} ended well and is {job.status}"
            assert execution.result is Result.SUCCESS


def _check_logs(story: Story) -> None:
    stored = {job.run: job.rows for job in story.jobs}
    for execution in story.executions:
        rows = stored[execution.run]
        check_log(execution.task, story.calls, rows)
        printed = [row for row in rows if row.startswith("job row ")]
        assert printed == execution.printed[: len(printed)], f"task {execution.task}: not what the job printed"
        if certain(story, execution):
            assert printed == execution.printed, f"task {execution.task}: {len(printed)} of {len(execution.printed)}"


def _check_lost_fetches(story: Story) -> None:
    """Check that a task that was handed out and never ran is the profile's doing: reaped by Gitea, never by Forgejo."""
    ran = {execution.task for execution in story.executions}
    for call in story.calls:
        for task in call.tasks if call.is_fetch else ():
            if task in ran:
                continue
            assert call.fault, f"task {task} was handed out by #{call.number} without a fault, and never ran"
            assert story.plan.profile != "forgejo-15", f"task {task} could have been recovered by its request key"


def _check_polls(story: Story, outage: Outage) -> None:
    """Check that each runner's polls grow apart while every one fails."""
    times: dict[str, list[int]] = defaultdict(list)
    for one in story.wire:
        if (
            one.path.endswith(FETCH)
            and outage.start_us <= one.began_us < outage.end_us
            and one.ended_us <= outage.end_us
        ):
            assert one.status != 200, f"{one.runner} was answered while the server was away"
            times[one.runner].append(one.began_us)
    for runner, polls in times.items():
        for place, (before, after) in enumerate(pairwise(sorted(polls))):
            least_s = POLLS_S[min(place, len(POLLS_S) - 1)] * (1 - JITTER)
            assert after - before >= least_s * SECOND_US - 1, f"{runner} polled again after {(after - before) / 1e6} s"


def _check_rates(story: Story, outage: Outage) -> None:
    tries = [one.began_us for one in story.wire]
    before_per_s = count_between(tries, 0, round(HEALTHY_S * SECOND_US)) / HEALTHY_S
    span_s = (outage.end_us - outage.start_us) / SECOND_US
    closing = sum(1 for _ in _closing(story, outage))
    running = _running(story, outage.start_us, outage.end_us + AFTER_US)
    # What a short window cannot spread: whatever was due anyway in its first moments, and the tries of a job's end.
    once = 3 * (RUNNERS + running) + CLOSING_CALLS_MAX * closing
    during = count_between(tries, outage.start_us, outage.end_us)
    assert during <= RATE_RATIO_MAX * before_per_s * span_s + once, f"{during} tries in {span_s} s of {outage.kind}"
    after = [at_us for at_us in tries if outage.end_us <= at_us < outage.end_us + AFTER_US]
    assert busiest_second(after) <= SURGE_CALLS_MAX * (RUNNERS + running), f"{busiest_second(after)} in one second"


def _check_recovery(story: Story, outage: Outage) -> None:
    """Check that each runner is heard again soon, unless the next window comes first."""
    others = [one.start_us for one in story.outages if one.start_us > outage.end_us]
    closing = {execution.runner for execution in _closing(story, outage)}
    for runner in {one.runner for one in story.wire}:
        within_s = CLOSING_RECOVERY_S_MAX if runner in closing else RECOVERY_S_MAX
        until_us = outage.end_us + round(within_s * SECOND_US)
        if any(start_us < until_us for start_us in others):
            continue
        heard = any(
            one.runner == runner and one.status == 200 and outage.end_us <= one.ended_us < until_us
            for one in story.wire
        )
        assert heard, f"{runner} had no answer within {within_s} s after {outage}"


def _closing(story: Story, outage: Outage) -> Iterator[Execution]:
    """Yield the jobs whose end had to be told in this window, or right before it."""
    since_us = outage.start_us - round(4 * story.plan.budget_s * SECOND_US)
    for execution in story.executions:
        if execution.ended_us is not None and since_us <= execution.ended_us < outage.end_us:
            yield execution


def _running(story: Story, start_us: int, end_us: int) -> int:
    return sum(
        execution.started_us < end_us and (execution.ended_us is None or execution.ended_us >= start_us)
        for execution in story.executions
    )
