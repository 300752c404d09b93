"""Control routes for repositories, runs, jobs, tasks and commit statuses."""

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from fastapi import APIRouter, Body, Path, Query, Response

from actionswire.result import Status
from mockgitea.core.errors import InvalidInput, NotFound
from mockgitea.service.runs import EnqueueRequest
from mockgitea.storage import control_queries as queries
from mockgitea.storage import page_queries
from mockgitea.transport.control import answers, models, views
from mockgitea.transport.downloads import LogFile, log_response

if TYPE_CHECKING:
    from mockgitea.app import App

RUNS_PAGE_MAX: Final = 500
Id = Annotated[int, Path(ge=1, le=models.ID_MAX)]
RepositoryFilter = Annotated[models.RepositoryName | None, Query(description="Only this `owner/name`.")]
_TEXT: Final[dict[int | str, dict[str, Any]]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
StatusWord = Literal["success", "failure", "cancelled", "skipped", "waiting", "running", "blocked", "cancelling"]


class RunRoutes:
    """Everything that starts, shows or ends work.

    Args:
        app: the running server.
    """

    def __init__(self, app: "App") -> None:
        self._services = app.services

    def register(self, router: APIRouter) -> None:
        """Add the routes to ``router``."""
        add = router.add_api_route
        add("/repositories", self.list_repositories, methods=["GET"], response_model=answers.RepositoriesAnswer)
        add("/repositories", self.create_repository, methods=["POST"], response_model=answers.RepositoryAnswer)
        add("/enqueue", self.enqueue, methods=["POST"], status_code=201, response_model=answers.EnqueuedAnswer)
        add("/runs", self.list_runs, methods=["GET"], response_model=answers.RunsAnswer)
        add("/runs/{run_id}", self.get_run, methods=["GET"], response_model=answers.RunAnswer)
        add("/runs/{run_id}", self.delete_run, methods=["DELETE"], status_code=204)
        add("/runs/{run_id}/cancel", self.cancel_run, methods=["POST"], response_model=answers.RunAnswer)
        add("/runs/{run_id}/approve", self.approve_run, methods=["POST"], response_model=answers.RunAnswer)
        add("/runs/{run_id}/rerun", self.rerun, methods=["POST"], response_model=answers.RunAnswer)
        add("/jobs/{job_id}", self.get_job, methods=["GET"], response_model=answers.JobAnswer)
        add("/tasks/{task_id}", self.get_task, methods=["GET"], response_model=answers.TaskAnswer)
        add("/tasks/{task_id}/log", self.get_log, methods=["GET"], response_model=None, responses=_TEXT)
        add("/tasks/{task_id}/age", self.age_task, methods=["POST"], response_model=answers.TaskAnswer)
        add("/commit-statuses", self.list_statuses, methods=["GET"], response_model=answers.CommitStatusesAnswer)

    async def list_repositories(self) -> dict[str, Any]:
        """List the repositories that exist."""
        rows = await self._services.store.read(queries.list_repositories)
        return {"repositories": [views.repository(row) for row in rows]}

    async def create_repository(self, body: models.NewRepository) -> dict[str, Any]:
        """Create a repository and, if need be, its owner; repeating the call changes nothing."""
        made = await self._services.repositories.ensure(body.owner, body.name, body.kind)
        rows = await self._services.store.read(queries.list_repositories)
        return next(views.repository(row) for row in rows if row["id"] == made.id)

    async def enqueue(self, body: models.Enqueue) -> dict[str, Any]:
        """Trigger a workflow: one run with its jobs, ready to be fetched."""
        services = self._services
        if body.create_repository:
            owner, _, name = body.repository.partition("/")
            await services.repositories.ensure(owner, name, "user")
        made = await services.runs.enqueue(enqueue_request(body))
        run = await self._run(made.run_id)
        return {
            "run_id": run["id"],
            "run_number": run["number"],
            "repository": run["repository"],
            "status": Status(run["status"]).text,
            "jobs": [views.new_job(job) for job in run["jobs"]],
        }

    async def list_runs(
        self,
        repository: RepositoryFilter = None,
        status: StatusWord | None = None,
        limit: Annotated[int, Query(ge=1, le=RUNS_PAGE_MAX)] = 50,
        offset: Annotated[int, Query(ge=0, le=models.ID_MAX)] = 0,
    ) -> dict[str, Any]:
        """List runs, newest first."""
        repo_id = None if repository is None else (await self._services.repositories.get(repository)).id
        wanted = None if status is None else int(Status[status.upper()])
        rows, total = await self._services.store.read(
            lambda conn: queries.list_runs(conn, repo_id=repo_id, status=wanted, limit=limit, offset=offset)
        )
        return {"runs": [views.run_summary(row) for row in rows], "total": total}

    async def get_run(self, run_id: Id) -> dict[str, Any]:
        """Show a run with its jobs, each with its latest task, steps and outputs."""
        return views.run(await self._run(run_id))

    async def delete_run(self, run_id: Id) -> Response:
        """Delete a run that has ended, with its jobs, tasks and logs."""
        await self._run(run_id)
        await self._services.runs.delete(run_id)
        return Response(status_code=204)

    async def cancel_run(self, run_id: Id, body: Annotated[models.Cancel | None, Body()] = None) -> dict[str, Any]:
        """Cancel everything of a run that has not ended."""
        await self._run(run_id)
        await self._services.runs.cancel(run_id, force=bool(body and body.force))
        return views.run(await self._run(run_id))

    async def approve_run(self, run_id: Id) -> dict[str, Any]:
        """Let a run that waits for approval go ahead."""
        await self._run(run_id)
        await self._services.runs.approve(run_id)
        return views.run(await self._run(run_id))

    async def rerun(self, run_id: Id, body: Annotated[models.Rerun | None, Body()] = None) -> dict[str, Any]:
        """Run all jobs, the failed ones, or one job and its dependants again."""
        wish = body or models.Rerun()
        if wish.job_id is not None and wish.failed_only:
            raise InvalidInput("job_id: give either job_id or failed_only, not both", field="job_id")
        await self._run(run_id)
        await self._services.runs.rerun(run_id, job_row_id=wish.job_id, failed_only=wish.failed_only, actor=wish.actor)
        return views.run(await self._run(run_id))

    async def get_job(self, job_id: Id) -> dict[str, Any]:
        """Show one job with its latest task."""
        row = await self._services.store.read(lambda conn: queries.find_job(conn, job_id))
        if row is None:
            raise NotFound(f"job_id: no job {job_id}", field="job_id")
        return views.job(row)

    async def get_task(self, task_id: Id) -> dict[str, Any]:
        """Show one task; earlier attempts are found here too."""
        return views.task(await self._task(task_id))

    async def get_log(self, task_id: Id) -> Response:
        """Show a task's log as stored: one line per row, its time in front."""
        row = await self._task(task_id)
        rows = row["log_rows"]
        size = await self._services.store.read(lambda conn: page_queries.log_size(conn, task_id, rows))
        return log_response(self._services.store, LogFile(task_id, rows, size, f"task-{task_id}.log"))

    async def age_task(self, task_id: Id, body: models.Age) -> dict[str, Any]:
        """Make one task older, so that a reaper finds it while all others stay young."""
        await self._task(task_id)
        await self._services.maintenance.age_task(task_id, body.seconds)
        return views.task(await self._task(task_id))

    async def list_statuses(
        self, repository: RepositoryFilter = None, sha: Annotated[str | None, Query(max_length=64)] = None
    ) -> dict[str, Any]:
        """List commit statuses."""
        repo_id = None if repository is None else (await self._services.repositories.get(repository)).id
        rows = await self._services.store.read(
            lambda conn: queries.list_commit_statuses(conn, repo_id=repo_id, sha=sha)
        )
        return {"statuses": [views.commit_status(row) for row in rows]}

    async def _run(self, run_id: int) -> dict[str, Any]:
        row = await self._services.store.read(lambda conn: queries.find_run(conn, run_id))
        if row is None:
            raise NotFound(f"run_id: no run {run_id}; GET /control/v1/runs lists them", field="run_id")
        return row

    async def _task(self, task_id: int) -> dict[str, Any]:
        row = await self._services.store.read(lambda conn: queries.find_task(conn, task_id))
        if row is None:
            raise NotFound(f"task_id: no task {task_id}", field="task_id")
        return row


def enqueue_request(body: models.Enqueue) -> EnqueueRequest:
    """Turn the JSON body into what the service takes; absent fields keep the service's defaults."""
    given = body.model_dump(exclude={"workflow", "create_repository"}, exclude_none=True)
    return EnqueueRequest(**given, source=body.workflow or "")
