"""A run that a test has enqueued: what became of it, its logs, and waiting for its end."""

from collections.abc import Callable
from typing import Any, Final

from mockgitea.core.errors import NotFound
from mockgitea.storage import control_queries as queries
from mockgitea.storage.logs import read_text
from mockgitea.testing.thread import ServerThread
from mockgitea.testing.waiting import wait_until, wait_until_async
from mockgitea.testing.wanted import refuse_inside_a_loop
from mockgitea.transport.control import views

FINAL: Final = frozenset({"success", "failure", "cancelled", "skipped"})


class Run:
    """One run. ``state()`` is what `GET /control/v1/runs/{id}` shows.

    Args:
        run_id: its number.
        thread: of its server.
        context: text for a wait that fails.
    """

    def __init__(self, run_id: int, thread: ServerThread, context: Callable[[], str]) -> None:
        self.id = run_id
        self._thread = thread
        self._context = context

    def __repr__(self) -> str:
        return f"Run({self.id})"

    def state(self) -> dict[str, Any]:
        """Return the run with its jobs, their latest tasks, steps and outputs, as JSON-like values.

        Raises:
            NotFound: it was deleted.
        """
        return self._thread.call(self._state())

    @property
    def status(self) -> str:
        """`waiting`, `blocked`, `running`, or one of the final ones."""
        return str(self.state()["status"])

    def job(self, job_id: str) -> dict[str, Any]:
        """Return the job with this key in the workflow file, of a matrix the last; raises `NotFound`."""
        jobs = self.state()["jobs"]
        found = [job for job in jobs if job["job_id"] == job_id]
        if not found:
            known = ", ".join(job["job_id"] for job in jobs)
            raise NotFound(f"job: run {self.id} has no {job_id!r}; it has {known}", field="job")
        return dict(found[-1])

    def wait(self, within: float = 30.0) -> str:
        """Wait until the run and all its jobs have ended, and return its status.

        Raises:
            NotInTime: it goes on; the text shows its state and the newest calls.
        """
        refuse_inside_a_loop("wait")
        return wait_until(self._ended, within_s=within, context=self._explain)

    async def wait_async(self, within: float = 30.0) -> str:
        """Do what `wait` does, without blocking the event loop."""
        return await wait_until_async(self._ended, within_s=within, context=self._explain)

    def log(self, job_id: str) -> list[str]:
        """Return the rows of a job's latest task, without their times."""
        task = self.job(job_id)["task"]
        if task is None:
            return []
        text = self._thread.call(self._text(task["id"])).decode("utf-8", "replace")
        return [line.partition(" ")[2] for line in text.splitlines()]

    def cancel(self, *, force: bool = False) -> None:
        """Cancel what has not ended; ``force`` ends running tasks at once."""
        self._thread.call(self._cancel(force=force))

    def _ended(self) -> str:
        state = self.state()
        statuses = [state["status"], *(job["status"] for job in state["jobs"])]
        return state["status"] if all(status in FINAL for status in statuses) else ""

    def _explain(self) -> str:
        state = self.state()
        jobs = ", ".join(f"{job['name']} {job['status']} (wants {job['runs_on']})" for job in state["jobs"])
        return f"run {self.id} is {state['status']}: {jobs}\n{self._context()}"

    async def _state(self) -> dict[str, Any]:
        row = await self._thread.app.services.store.read(lambda conn: queries.find_run(conn, self.id))
        if row is None:
            raise NotFound(f"run: there is no run {self.id}", field="run")
        return views.run(row)

    async def _text(self, task_id: int) -> bytes:
        return await self._thread.app.services.store.read(lambda conn: b"".join(read_text(conn, task_id)))

    async def _cancel(self, *, force: bool) -> None:
        await self._thread.app.services.runs.cancel(self.id, force=force)
