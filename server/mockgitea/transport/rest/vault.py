"""REST v1: secrets, whose values are never shown, and variables."""

from typing import Any

from starlette.responses import JSONResponse, Response

from mockgitea.core.errors import Conflict
from mockgitea.storage import rest_queries as queries
from mockgitea.transport.rest import shapes
from mockgitea.transport.rest.bodies import Body
from mockgitea.transport.rest.calls import Call, Scope, empty
from mockgitea.transport.rest.errors import RestRefusal, not_found


async def list_secrets(call: Call) -> Response:
    """Answer a scope's secrets: names and times."""
    scope = await call.scope()
    rows = await call.services.store.read(lambda conn: queries.list_secrets(conn, scope.owner_id, scope.repo_id))
    return _listed(call, [shapes.secret(row) for row in rows])


async def put_secret(call: Call) -> Response:
    """Store a secret: 201 when it is new, 204 when it was changed."""
    scope, body = await call.scope(), await call.body()
    is_new = await call.services.vault.set_secret(
        scope.owner_id,
        scope.repo_id,
        call.path("name"),
        body.text("data", is_required=True),
        description=_description(call, body),
    )
    return empty(201 if is_new else 204)


async def delete_secret(call: Call) -> Response:
    """Delete a secret."""
    scope = await call.scope()
    await call.services.vault.delete_secret(scope.owner_id, scope.repo_id, call.path("name"))
    return empty(204)


async def list_variables(call: Call) -> Response:
    """Answer a scope's variables."""
    rows = await _variables(call, await call.scope())
    return _listed(call, [_shape(call, row) for row in rows])


async def get_variable(call: Call) -> Response:
    """Answer one variable."""
    return JSONResponse(_shape(call, await _variable(call, await call.scope())))


async def create_variable(call: Call) -> Response:
    """Store a new variable."""
    scope, body = await call.scope(), await call.body()
    value = body.text("value", is_required=True)
    try:
        await call.services.vault.create_variable(
            scope.owner_id, scope.repo_id, call.path("name"), value, description=_description(call, body)
        )
    except Conflict:
        raise RestRefusal(409, "variable name already exists") from None
    return empty(call.profile.rest_variable_created_status)


async def update_variable(call: Call) -> Response:
    """Change a variable, also its name; a missing description clears it."""
    scope, body = await call.scope(), await call.body()
    await call.services.vault.update_variable(
        scope.owner_id,
        scope.repo_id,
        call.path("name"),
        body.text("value", is_required=True),
        new_name=body.text("name"),
        description=_description(call, body),
    )
    return empty(204)


async def delete_variable(call: Call) -> Response:
    """Delete a variable."""
    scope = await call.scope()
    await call.services.vault.delete_variable(scope.owner_id, scope.repo_id, call.path("name"))
    return empty(204)


def _listed(call: Call, shown: list[dict[str, Any]]) -> Response:
    limit, offset = call.page
    return call.listed(shown[offset : offset + limit], len(shown))


def _shape(call: Call, row: dict[str, Any]) -> dict[str, Any]:
    return shapes.variable(row, shows_description=call.profile.rest_descriptions)


def _description(call: Call, body: Body) -> str:
    return body.text("description") if call.profile.rest_descriptions else ""


async def _variables(call: Call, scope: Scope) -> list[dict[str, Any]]:
    return await call.services.store.read(lambda conn: queries.list_variables(conn, scope.owner_id, scope.repo_id))


async def _variable(call: Call, scope: Scope) -> dict[str, Any]:
    wanted = call.path("name").upper()
    for row in await _variables(call, scope):
        if row["name"] == wanted:
            return row
    raise not_found()
