"""Liveness: after healing everything ends, runners poll as idle ones do, and nothing is left behind."""

from itertools import pairwise
from typing import Final

from history import History, Problem, Problems, Quiet

POLL_S_MAX: Final = 7.0
"""An idle runner waits five seconds at most between two polls, 20 % more or less, and the calls take their time."""
POLL_S_MEAN_MIN: Final = 3.0
RECOVERY_S_MAX: Final = 60.0
"""After healing every runner has had a good answer: its longest wait, or a supervisor that starts it again."""
_FETCH: Final = "/FetchTask"


def check_all_ended(history: History) -> Problems:
    """Check that every run came to its end."""
    for run in _quiet(history).unfinished_runs:
        yield Problem("all-ended", f"run {run} has not ended", runs=frozenset({run}))


def check_recovery(history: History) -> Problems:
    """Check that every runner that is there gets good answers soon after healing."""
    until_us = history.healed_us + round(RECOVERY_S_MAX * 1e6)
    answered = {
        one.runner for one in history.wire if history.healed_us <= one.ended_us < until_us and one.status == 200
    }
    for runner in _quiet(history).runners:
        if runner not in answered:
            yield Problem("recovery", f"{runner} had no good answer within {RECOVERY_S_MAX:g} s", runner=runner)


def check_idle_rate(history: History) -> Problems:
    """Check that the calm system does nothing but poll, at the idle rate."""
    quiet = _quiet(history)
    calm = [one for one in history.wire if quiet.start_us <= one.began_us < quiet.end_us]
    for one in calm:
        if not one.path.endswith(_FETCH) or one.status != 200:
            what = f"{one.runner} called {one.path} and got {one.status} {one.error}"
            yield Problem("idle-rate", f"at {one.began_us / 1e6:.3f} s in the calm, {what}", runner=one.runner)
    for runner in quiet.runners:
        times = [one.began_us for one in calm if one.runner == runner]
        gaps = [after - before for before, after in pairwise([quiet.start_us, *times, quiet.end_us])]
        if max(gaps) > POLL_S_MAX * 1e6:
            yield Problem("idle-rate", f"{runner} did not poll for {max(gaps) / 1e6:.1f} s in the calm", runner=runner)
        if times and (quiet.end_us - quiet.start_us) / len(times) < POLL_S_MEAN_MIN * 1e6:
            yield Problem("idle-rate", f"{runner} polled {len(times)} times in the calm", runner=runner)


def check_nothing_left(history: History) -> Problems:
    """Check that no queue, mailbox, call or task of the event loop is left over."""
    quiet = _quiet(history)
    for name, value in quiet.figures.items():
        if value:
            yield Problem("nothing-left", f"{name}: {value:g} in a system at rest")
    before, now = quiet.asyncio_tasks
    if now > before:
        yield Problem("nothing-left", f"{now} tasks of the event loop, {before} before anything happened")


def _quiet(history: History) -> Quiet:
    assert history.quiet is not None, "the simulation went to its end"
    return history.quiet
