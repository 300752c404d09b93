"""Runs: enqueue a workflow file, cancel, approve, rerun, delete.

Everything a request can get wrong is checked before anything is written. Source: docs/protocol.md, "Lifecycle".
"""

from collections.abc import Callable, Mapping
from typing import Any

import structlog
from sqlalchemy import Connection

from actionswire.result import Status
from mockgitea.core.errors import InvalidInput, NotFound
from mockgitea.core.profiles import Profile
from mockgitea.core.workflow_model import DISPATCH
from mockgitea.randomness import Randomness
from mockgitea.service.enqueue_request import EnqueuedJob, EnqueuedRun, EnqueueRequest, check_request, new_run
from mockgitea.service.repositories import Repositories
from mockgitea.storage import cancels, reruns, resolution, workflows
from mockgitea.storage import runs as rows
from mockgitea.storage.interface import Store, Tx
from mockgitea.storage.repositories import RepositoryRecord
from mockgitea.storage.reruns import Rerun, RerunWish
from mockgitea.storage.runs import RunPlaces

__all__ = ["EnqueueRequest", "EnqueuedJob", "EnqueuedRun", "Runs"]

log = structlog.get_logger(__name__)


class Runs:
    """The use cases around runs.

    Args:
        store: where runs live.
        repositories: to find the repository; none is ever invented.
        profile: the imitated server.
        randomness: for commit ids that are not given, and handles.
        app_url: returns the instance address with a trailing slash; known only once the server listens.
    """

    def __init__(
        self,
        *,
        store: Store,
        repositories: Repositories,
        profile: Profile,
        randomness: Randomness,
        app_url: Callable[[], str],
    ) -> None:
        self._store = store
        self._repositories = repositories
        self._profile = profile
        self._randomness = randomness
        self._app_url = app_url
        self._handle_seed = randomness.salt(16)

    async def enqueue(self, request: EnqueueRequest) -> EnqueuedRun:
        """Make a run of a workflow file.

        Args:
            request: file, event and everything around it.

        Returns:
            The run with its jobs; those without needs are waiting for a runner already.

        Raises:
            InvalidInput: ``field`` names what is wrong with the request or the file.
            NotFound: no such repository, or no such file in it.
        Source: docs/protocol.md, "Lifecycle".
        """
        check_request(request)
        repository = await self._repositories.get(request.repository)
        source = await self._source(request, repository)
        new = new_run(
            request,
            repository=repository,
            source=source,
            profile=self._profile,
            app_url=self._app_url(),
            default_sha=f"{self._randomness.stream('commit').getrandbits(160):040x}",
        )
        places = self.places()

        def intent(tx: Tx) -> EnqueuedRun:
            return enqueued(tx.conn, rows.create_run(tx, new, places=places, profile=self._profile))

        made = await self._store.write(intent)
        log.info("run_enqueued", run_id=made.run_id, trigger=new.event, jobs=len(made.jobs), file=new.workflow_file)
        return made

    async def dispatch(
        self, repository: str, workflow_file: str, *, ref: str, inputs: Mapping[str, Any], actor: str = ""
    ) -> EnqueuedRun:
        """Start a stored workflow file by hand, as REST and the page do: inputs it does not declare are ignored.

        Raises:
            InvalidInput: no ref, wrong inputs, the file is disabled, or it has no `workflow_dispatch`.
            NotFound: no such repository, or no such file in it.
        """
        if not ref:
            raise InvalidInput("ref: is missing; name a branch or tag", field="ref")
        return await self.enqueue(
            EnqueueRequest(
                repository=repository,
                workflow_file=workflow_file,
                event=DISPATCH,
                ref=ref,
                inputs=inputs,
                ignores_unknown_inputs=True,
                actor=actor,
            )
        )

    async def set_workflow_enabled(self, repository: str, workflow_file: str, *, is_enabled: bool) -> None:
        """Enable or disable a stored workflow file.

        Raises:
            NotFound: no such repository, or no such file in it.
        """
        found = await self._repositories.get(repository)
        changed = await self._store.write(
            lambda tx: workflows.set_workflow_enabled(tx, found.id, workflow_file, is_enabled=is_enabled)
        )
        if not changed:
            raise _no_file(workflow_file, found)

    async def cancel(self, run_id: int, *, force: bool = False) -> int:
        """Cancel what a run has not finished.

        Args:
            run_id: the run.
            force: end running jobs at once, without the cancelling state.

        Returns:
            How many jobs changed; 0 when nothing was left to cancel.

        Raises:
            NotFound: no such run.
        Source: docs/protocol.md, "Cancel".
        """

        def intent(tx: Tx) -> int:
            rows.get_run(tx.conn, run_id)
            return cancels.cancel_run(tx, run_id, profile=self._profile, force=force)

        changed = await self._store.write(intent)
        log.info("run_cancelled", run_id=run_id, jobs=changed, force=force)
        return changed

    async def approve(self, run_id: int) -> bool:
        """Release a run that waits for approval; False when it did not.

        Raises:
            NotFound: no such run.
        """
        return await self._store.write(
            lambda tx: resolution.approve_run(tx, run_id, places=self.places(), profile=self._profile)
        )

    async def rerun(
        self, run_id: int, *, job_row_id: int | None = None, failed_only: bool = False, actor: str = ""
    ) -> Rerun:
        """Run a finished run again: all of it, what failed, or one job; dependants always follow.

        Args:
            run_id: the run.
            job_row_id: one job of its latest attempt.
            failed_only: failed and cancelled jobs only.
            actor: who asks; default: the run's actor.

        Returns:
            The new attempt, and which row each job has now.

        Raises:
            InvalidInput: it is not finished, its file is disabled, the limit is reached, or nothing can run.
            NotFound: no such run or job.
        Source: docs/protocol.md, "Rerun".
        """
        wish = RerunWish(run_id=run_id, job_row_id=job_row_id, failed_only=failed_only, actor=actor)
        made = await self._store.write(lambda tx: reruns.rerun(tx, wish, places=self.places(), profile=self._profile))
        log.info("run_rerun", run_id=run_id, attempt=made.attempt, jobs=len(made.started))
        return made

    async def delete(self, run_id: int) -> None:
        """Delete a finished run with its logs.

        Raises:
            InvalidInput: it is not finished.
            NotFound: no such run.
        """
        await self._store.write(lambda tx: rows.delete_run(tx, run_id))
        log.info("run_deleted", run_id=run_id)

    def places(self) -> RunPlaces:
        """Return what rows need to know of the server around them."""
        return RunPlaces(self._app_url(), self._handle_seed)

    async def _source(self, request: EnqueueRequest, repository: RepositoryRecord) -> bytes:
        if request.source:
            return (
                request.source.encode("utf-8", "surrogatepass") if isinstance(request.source, str) else request.source
            )
        found = await self._store.read(lambda conn: workflows.find_workflow(conn, repository.id, request.workflow_file))
        if found is None:
            raise _no_file(request.workflow_file, repository)
        source: bytes = found["source"]
        return source


def enqueued(conn: Connection, run_id: int) -> EnqueuedRun:
    """Return a run with its jobs as `Runs.enqueue` answers them."""
    run = rows.get_run(conn, run_id)
    jobs = tuple(
        EnqueuedJob(row["id"], row["job_id"], row["name"], Status(row["status"]), row["failure_reason"])
        for row in rows.latest_jobs(conn, run_id)
    )
    return EnqueuedRun(run_id, run["number"], Status(run["status"]), jobs)


def _no_file(workflow_file: str, repository: RepositoryRecord) -> NotFound:
    return NotFound(
        f"workflow_file: {repository.full_name} has no {workflow_file!r}; enqueue it once with its text",
        field="workflow_file",
    )
