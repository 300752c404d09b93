"""Leaving in good order: what each signal does, and how long anybody waits.

The first request stops fetching and lets jobs go on for ``patience_us``; then they are cancelled, run their post steps
and report. Each further request cuts the present wait short: the jobs are cancelled now, then their processes are
killed without asking, then the reports are given up.
"""

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from typing import Any, Final

import structlog

from actionsrunner.edge.clock import Clock
from actionsrunner.loops.poll_loop import PollLoop
from actionsrunner.loops.supervise import wait_for

REASON: Final = "The runner is shutting down"

log = structlog.get_logger(__name__)


class ShutdownRequests:
    """Counts the requests to leave; nothing else happens in a signal's handler."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._pending = 0

    def ask(self) -> None:
        """Ask once more."""
        self._pending += 1
        self._event.set()

    async def asked(self) -> None:
        """Return once there is a request that was not taken yet; does not take it."""
        await self._event.wait()

    async def next(self, clock: Clock, until_us: int | None = None) -> bool:
        """Return True on a request that was not taken yet, False once ``until_us`` has come."""
        await wait_for(self._event, clock, until_us)
        if not self._pending:
            self._event.clear()
            return False
        self._pending -= 1
        if not self._pending:
            self._event.clear()
        return True


@contextlib.contextmanager
def on_signals(requests: ShutdownRequests) -> Iterator[None]:
    """Turn SIGINT and SIGTERM into requests while the block runs."""
    loop = asyncio.get_running_loop()
    kinds = (signal.SIGINT, signal.SIGTERM)
    for kind in kinds:
        loop.add_signal_handler(kind, requests.ask)
    try:
        yield
    finally:
        for kind in kinds:
            loop.remove_signal_handler(kind)


def ignore_signals() -> None:
    """Ignore SIGINT and SIGTERM from here on, for a process that only has to exit.

    A late signal would otherwise make its exit status that of a crash.
    """
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, signal.SIG_IGN)


async def leave_in_order(requests: ShutdownRequests, poll: PollLoop[Any], clock: Clock, *, patience_us: int) -> None:
    """Carry out the shutdown of ``poll``; returns when even the reports are to be given up.

    Cancel it when ``poll`` has ended by itself.
    """
    await requests.next(clock)
    log.info("stopping", detail="no more tasks are fetched", waiting_for=poll.running, patience_s=patience_us / 1e6)
    poll.stop()
    if patience_us > 0:
        await requests.next(clock, clock.now_us() + patience_us)
    poll.cancel_jobs(REASON)
    await requests.next(clock)
    log.warning("killing_jobs")
    poll.force_jobs()
    await requests.next(clock)
    log.warning("forced", detail="reports are given up")
