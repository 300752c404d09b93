"""Which REST v1 routes a profile has: the table, and nothing else."""

from collections.abc import Iterator
from dataclasses import dataclass

from starlette.responses import JSONResponse, Response

from mockgitea.core.profiles import Family, Profile
from mockgitea.transport.rest import archives, jobs, runners, runs, vault, workflows
from mockgitea.transport.rest.calls import Call, Handler, ScopeKind

_REPO = ScopeKind.REPOSITORY
_EVERY = tuple(ScopeKind)
_WITHOUT_ADMIN = (_REPO, ScopeKind.ORGANIZATION, ScopeKind.USER)


@dataclass(frozen=True, slots=True)
class RestRoute:
    """One route. ``path`` follows the scope's prefix; ``is_public`` means that reading needs no token."""

    verb: str
    path: str
    handler: Handler
    kinds: tuple[ScopeKind, ...] = (_REPO,)
    is_public: bool = False
    is_whole_path: bool = False
    """The path stands directly below `/api/v1`, without a scope's prefix."""


async def version(call: Call) -> Response:
    """Answer the imitated server's version."""
    return JSONResponse({"version": call.profile.server_version})


def routes(profile: Profile) -> Iterator[RestRoute]:
    """Yield the routes that the profile's release has; everything else is 404 there."""
    yield RestRoute("GET", "/version", version, (ScopeKind.ADMIN,), is_public=True, is_whole_path=True)
    yield from _runner_routes(profile)
    yield RestRoute("GET", "/actions/tasks", jobs.list_tasks, is_public=True)
    if profile.family is Family.FORGEJO:
        yield from _forgejo_routes(profile)
    else:
        yield from _run_routes(profile)
        yield from _job_routes(profile)
        yield from _workflow_routes(profile)
    yield from _vault_routes()


def _runner_routes(profile: Profile) -> Iterator[RestRoute]:
    token_path, path = "/actions/runners/registration-token", "/actions/runners"
    for verb in profile.rest_registration_token_methods:
        yield RestRoute(verb, token_path, runners.registration_token, _EVERY)
        if verb == "GET":
            yield RestRoute(verb, "/runners/registration-token", runners.registration_token, (ScopeKind.ADMIN,))
    if profile.rest_job_search:
        yield RestRoute("GET", f"{path}/jobs", jobs.search_jobs, _EVERY)
        yield RestRoute("GET", "/runners/jobs", jobs.search_jobs, (ScopeKind.ADMIN,))
    if profile.rest_runners:
        yield RestRoute("GET", path, runners.list_runners, _EVERY)
        yield RestRoute("GET", f"{path}/{{runner_id}}", runners.get_runner, _EVERY)
        yield RestRoute("DELETE", f"{path}/{{runner_id}}", runners.delete_runner, _EVERY)
    if profile.rest_runner_patch:
        yield RestRoute("PATCH", f"{path}/{{runner_id}}", runners.change_runner, _EVERY)
    if profile.rest_create_runner:
        yield RestRoute("POST", path, runners.create_runner, _EVERY)


def _run_routes(profile: Profile) -> Iterator[RestRoute]:
    path = "/actions/runs/{run}"
    if profile.rest_runs:
        yield RestRoute("GET", "/actions/runs", runs.list_runs, _EVERY)
        yield RestRoute("GET", path, runs.get_run, is_public=True)
        yield RestRoute("DELETE", path, runs.delete_run)
        yield RestRoute("GET", f"{path}/artifacts", archives.list_artifacts, is_public=True)
        yield RestRoute("GET", "/actions/artifacts", archives.list_artifacts, is_public=True)
    if profile.rest_attempts:
        yield RestRoute("GET", f"{path}/attempts/{{attempt}}", runs.get_attempt, is_public=True)
        yield RestRoute("GET", f"{path}/attempts/{{attempt}}/jobs", jobs.list_attempt_jobs, is_public=True)
    if profile.rest_rerun:
        yield RestRoute("POST", f"{path}/rerun", runs.rerun_all)
        yield RestRoute("POST", f"{path}/rerun-failed-jobs", runs.rerun_failed)
        yield RestRoute("POST", f"{path}/jobs/{{job_id}}/rerun", runs.rerun_job)
    if profile.rest_cancel:
        yield RestRoute("POST", f"{path}/cancel", runs.cancel_run)
        yield RestRoute("POST", f"{path}/force-cancel", runs.force_cancel_run)
        yield RestRoute("POST", f"{path}/approve", runs.approve_run)
        yield RestRoute("GET", f"{path}/logs", archives.get_run_logs, is_public=True)


def _job_routes(profile: Profile) -> Iterator[RestRoute]:
    if profile.rest_jobs:
        yield RestRoute("GET", "/actions/jobs", jobs.list_jobs, _EVERY)
        yield RestRoute("GET", "/actions/runs/{run}/jobs", jobs.list_run_jobs, is_public=True)
        yield RestRoute("GET", "/actions/jobs/{job_id}", jobs.get_job)
    if profile.rest_job_logs:
        yield RestRoute("GET", "/actions/jobs/{job_id}/logs", jobs.get_job_logs)


def _workflow_routes(profile: Profile) -> Iterator[RestRoute]:
    path = "/actions/workflows/{workflow_id}"
    if not profile.rest_dispatch:
        return
    yield RestRoute("GET", "/actions/workflows", workflows.list_workflows)
    yield RestRoute("GET", path, workflows.get_workflow)
    yield RestRoute("PUT", f"{path}/enable", workflows.enable_workflow)
    yield RestRoute("PUT", f"{path}/disable", workflows.disable_workflow)
    yield RestRoute("POST", f"{path}/dispatches", workflows.dispatch)
    if profile.rest_workflow_runs:
        yield RestRoute("GET", f"{path}/runs", workflows.list_workflow_runs)


def _forgejo_routes(profile: Profile) -> Iterator[RestRoute]:
    if profile.rest_runs:
        yield RestRoute("GET", "/actions/runs", runs.list_forgejo_runs, is_public=True)
        yield RestRoute("GET", "/actions/runs/{run}", runs.get_run, is_public=True)
    if profile.rest_dispatch:
        yield RestRoute("POST", "/actions/workflows/{workflow_id}/dispatches", workflows.dispatch_forgejo)


def _vault_routes() -> Iterator[RestRoute]:
    secret, variable = "/actions/secrets/{name}", "/actions/variables/{name}"
    yield RestRoute("GET", "/actions/secrets", vault.list_secrets, (_REPO, ScopeKind.ORGANIZATION))
    yield RestRoute("PUT", secret, vault.put_secret, _WITHOUT_ADMIN)
    yield RestRoute("DELETE", secret, vault.delete_secret, _WITHOUT_ADMIN)
    yield RestRoute("GET", "/actions/variables", vault.list_variables, _WITHOUT_ADMIN)
    yield RestRoute("GET", variable, vault.get_variable, _WITHOUT_ADMIN)
    yield RestRoute("POST", variable, vault.create_variable, _WITHOUT_ADMIN)
    yield RestRoute("PUT", variable, vault.update_variable, _WITHOUT_ADMIN)
    yield RestRoute("DELETE", variable, vault.delete_variable, _WITHOUT_ADMIN)
