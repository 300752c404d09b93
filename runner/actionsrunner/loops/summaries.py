"""Sends a job's summaries after its last step: bounded in time, and never the reason why a job fails.

Source: docs/protocol.md, "Job summaries".
"""

from collections.abc import Mapping
from typing import Final

import structlog

from actionsrunner.core.failures import Failure
from actionsrunner.core.seams import CancelSignal, TaskSpec
from actionsrunner.core.summaries import SummaryPlace, summary_place
from actionsrunner.edge.client import RunnerClient
from actionsrunner.edge.clock import Clock
from actionsrunner.edge.connect import RpcError

REQUEST_LIMIT_S: Final = 5.0
ALL_LIMIT_US: Final = 15_000_000
"""For all summaries of a job together: its result waits for them."""
TRIES_MAX: Final = 2
_TRANSIENT: Final = frozenset({Failure.RETRY, Failure.DEADLINE})

log = structlog.get_logger(__name__)


class SummarySender:
    """Sends summaries where the server has announced that it takes them."""

    def __init__(self, client: RunnerClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    async def send(self, task: TaskSpec, texts: Mapping[int, str], stop: CancelSignal) -> None:
        """Send the Markdown of each step, masked already, until ``stop`` is set; what fails is logged."""
        if not self._client.takes_summaries:
            return
        place = summary_place(task.context)
        if place is None:
            log.warning("summary_not_sent", error="the task's runtime token names no job")
            return
        until_us = self._clock.now_us() + ALL_LIMIT_US
        for step, text in texts.items():
            if stop.reason is not None:
                return
            if error := await self._send(place, step, text, until_us):
                log.warning("summary_not_sent", step=step, error=error)

    async def _send(self, place: SummaryPlace, step: int, text: str, until_us: int) -> str:
        """Return why the summary was not taken; empty when it was."""
        problem = "no time was left for it"
        for _ in range(TRIES_MAX):
            limit_s = min(REQUEST_LIMIT_S, (until_us - self._clock.now_us()) / 1_000_000)
            if limit_s <= 0:
                break
            try:
                await self._client.put_summary(place, step, text, limit_s=limit_s)
            except RpcError as error:
                problem = f"{error.code}: {error.message}"
                if error.failure not in _TRANSIENT:
                    break
            else:
                return ""
        return problem
