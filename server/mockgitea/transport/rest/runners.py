"""REST v1: registration tokens and runners, in every scope."""

from starlette.responses import JSONResponse, Response

from mockgitea.core.errors import NotFound
from mockgitea.core.profiles import Family
from mockgitea.service.directory import RunnerRecord
from mockgitea.transport.rest import forgejo_shapes, shapes
from mockgitea.transport.rest.calls import Call, Scope, empty
from mockgitea.transport.rest.errors import not_found, unprocessable


async def registration_token(call: Call) -> Response:
    """Answer the scope's registration token; asking again invalidates nothing."""
    scope = await call.scope()
    token = await call.services.registration.registration_token(scope.owner_id, scope.repo_id)
    return JSONResponse({"token": token})


async def list_runners(call: Call) -> Response:
    """Answer the runners of a scope, most recently seen first."""
    scope = await call.scope()
    is_wider = call.profile.family is Family.FORGEJO and call.query_flag("visible")
    owners = await _visible_owners(call, scope) if is_wider else set()
    found = [each for each in call.services.directory.all() if _is_in(each, scope) or _scope_of(each) in owners]
    if call.profile.has_disabled_runners and call.query("disabled"):
        wanted = call.query_flag("disabled")
        found = [each for each in found if each.is_disabled is wanted]
    found.sort(key=lambda each: (-each.last_online_us, each.id))
    limit, offset = call.page
    shown = [_shape(call, each) for each in found[offset : offset + limit]]
    if call.profile.rest_bare_lists:
        return call.listed(shown, len(found))
    # Gitea's runner lists are the ones without the header X-Total-Count.
    return JSONResponse({"runners": shown, "total_count": len(found)})


async def get_runner(call: Call) -> Response:
    """Answer one runner of a scope."""
    return JSONResponse(_shape(call, await _runner(call)))


async def delete_runner(call: Call) -> Response:
    """Delete a runner: its next call is answered "unregistered runner"."""
    found = await _runner(call)
    await call.services.registration.delete_runner(found.id)
    return empty(204)


async def change_runner(call: Call) -> Response:
    """Disable or enable a runner."""
    found = await _runner(call)
    disabled = (await call.body()).flag("disabled")
    if disabled is None:
        raise unprocessable("[Disabled]: Required")
    await call.services.registration.update_runner(found.id, disabled=disabled)
    return await get_runner(call)


async def create_runner(call: Call) -> Response:
    """Create a runner without Register; the answer is the only place that shows its token."""
    scope, body = await call.scope(), await call.body()
    record, token = await call.services.registration.create_runner(
        name=body.text("name", is_required=True),
        owner_id=scope.owner_id,
        repo_id=scope.repo_id,
        labels=(),
        ephemeral=bool(body.flag("ephemeral")),
        description=body.text("description"),
    )
    return JSONResponse({"id": record.id, "uuid": record.uuid, "token": token}, status_code=201)


def _shape(call: Call, record: RunnerRecord) -> dict[str, object]:
    now = call.services.clock.now_us()
    if call.profile.family is Family.FORGEJO:
        return forgejo_shapes.runner(record, now)
    return shapes.runner(record, now, shows_disabled=call.profile.has_disabled_runners)


async def _runner(call: Call) -> RunnerRecord:
    scope = await call.scope()
    try:
        found = call.services.directory.get(call.number("runner_id"))
    except NotFound:
        raise not_found("Runner not found") from None
    if not _is_in(found, scope):
        raise not_found("No permission to access this runner")
    return found


def _is_in(record: RunnerRecord, scope: Scope) -> bool:
    """Tell whether a scope may see and change a runner: its own ones, and everything for the whole server."""
    if scope == Scope(0, 0):
        return True
    return _scope_of(record) == (scope.owner_id, scope.repo_id)


def _scope_of(record: RunnerRecord) -> tuple[int, int]:
    return record.owner_id, record.repo_id


async def _visible_owners(call: Call, scope: Scope) -> set[tuple[int, int]]:
    """Return the wider scopes whose runners serve this one too (Forgejo's `?visible=true`)."""
    wider = {(0, 0)}
    if scope.repo_id:
        wider.add(((await call.repository()).owner_id, 0))
    return wider
