"""A real watcher: polls the page's JSON through the runner port exactly as the page does, with every step expanded.

Proves on a sample of tasks what `page_model` computes for all of them.
"""

from typing import Any, Final

import orjson
from sqlalchemy import Connection

from mockgitea.core.page_links import PageLinks
from mockgitea.lab.clocks import EPOCH_US, RunnerClock
from mockgitea.lab.network import ConnectionEnded, ConnectionReset
from mockgitea.lab.page_model import PAGE_PERIOD_US, next_tick
from mockgitea.lab.server import REPOSITORY, LabServer
from mockgitea.lab.transport import call
from mockgitea.storage import runs

_HEADERS: Final = {"content-type": "application/json", "host": "lab.test"}


class PageWatcher:
    """Somebody who opens the page of one run's job now.

    Args:
        server: with a profile whose page asks for no CSRF token.
        clock: virtual time.
        run_id: a run with one job.
        phase_us: polls happen whenever the time modulo one second is this.
    """

    def __init__(self, server: LabServer, clock: RunnerClock, run_id: int, phase_us: int) -> None:
        profile = server.services.profile
        if profile.page_requires_csrf_token:
            raise ValueError(f"profile: {profile.name} wants a CSRF token of the page; watch with a newer one")
        self._server = server
        self._clock = clock
        self._run_id = run_id
        self._phase_us = phase_us
        self._cursors: list[int | None] = []
        self._first: dict[tuple[int, str], int] = {}

    @property
    def sights(self) -> list[tuple[int, int]]:
        """Each row's own time and when it was first in an answer, in microseconds of the simulation, sorted."""
        return sorted((row_us - EPOCH_US, seen_us) for (row_us, _), seen_us in self._first.items())

    async def watch(self) -> None:
        """Poll until the run is done."""
        path = await self._server.services.store.read(self._path)
        at_us = next_tick(self._clock.now_us(), self._phase_us)
        while True:
            await self._clock.sleep_until(at_us)
            answer = await self._poll(path)
            if answer is not None and self._take(answer, at_us):
                return
            at_us += PAGE_PERIOD_US

    def _path(self, conn: Connection) -> str:
        owner, _, name = REPOSITORY.partition("/")
        run, job = dict(runs.get_run(conn, self._run_id)), dict(runs.latest_jobs(conn, self._run_id)[0])
        return PageLinks(owner, name, self._server.services.profile.page_urls).job(run, job, 0)

    async def _poll(self, path: str) -> Any:
        cursors = [{"step": step, "cursor": at, "expanded": True} for step, at in enumerate(self._cursors)]
        body = orjson.dumps({"logCursors": cursors})
        try:
            answer = await call(self._server.app, path, {**_HEADERS, "content-length": str(len(body))}, body)
        except (ConnectionReset, ConnectionEnded):
            return None
        if answer.status != 200 and self._server.faults.is_active:
            return None  # the page shows nothing new and asks again
        if answer.status != 200:
            raise RuntimeError(f"the page answered {answer.status}: {answer.body.decode(errors='replace')}")
        return orjson.loads(answer.body)

    def _take(self, answer: Any, at_us: int) -> bool:
        """Note what the answer shows; True when the page stops asking."""
        for log in answer["logs"]["stepsLog"] or ():
            self._cursors[log["step"]] = log["cursor"]
            for line in log["lines"]:
                # A row may be shown twice: under an artificial step first, under its own later.
                self._first.setdefault((round(line["timestamp"] * 1e6), line["message"]), at_us)
        shown = len(answer["state"]["currentJob"]["steps"] or ())
        self._cursors += [None] * (shown - len(self._cursors))
        return bool(answer["state"]["run"]["done"])
