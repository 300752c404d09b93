"""Control routes for secrets, whose values are never shown again, and variables."""

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from mockgitea.core.errors import NotFound
from mockgitea.storage import rest_queries
from mockgitea.transport.control import answers, models
from mockgitea.transport.control.scopes import ScopeIds, scope_ids
from mockgitea.transport.times import precise

if TYPE_CHECKING:
    from mockgitea.app import App

StoredName = Annotated[str, Path(min_length=1, max_length=models.NAME_LENGTH_MAX)]
Owner = Annotated[str | None, Query(max_length=models.NAME_LENGTH_MAX, description="Scope: this owner.")]
Repository = Annotated[models.RepositoryName | None, Query(description="Scope: this `owner/name`.")]


class VaultRoutes:
    """Secrets and variables of one scope: an owner, a repository, or (neither given) the whole server.

    Args:
        app: the running server.
    """

    def __init__(self, app: "App") -> None:
        self._services = app.services

    def register(self, router: APIRouter) -> None:
        """Add the routes to ``router``."""
        add = router.add_api_route
        add("/secrets", self.list_secrets, methods=["GET"], response_model=answers.SecretsAnswer)
        add("/secrets/{name}", self.get_secret, methods=["GET"], response_model=answers.StoredNameAnswer)
        add("/secrets/{name}", self.put_secret, methods=["PUT"], response_model=answers.StoredAnswer)
        add("/secrets/{name}", self.delete_secret, methods=["DELETE"], status_code=204)
        add("/variables", self.list_variables, methods=["GET"], response_model=answers.VariablesAnswer)
        add("/variables/{name}", self.get_variable, methods=["GET"], response_model=answers.VariableAnswer)
        add("/variables/{name}", self.put_variable, methods=["PUT"], response_model=answers.StoredAnswer)
        add("/variables/{name}", self.delete_variable, methods=["DELETE"], status_code=204)

    async def list_secrets(self, owner: Owner = None, repository: Repository = None) -> dict[str, Any]:
        """List the names of a scope's secrets; their values are never shown."""
        return {"secrets": await self._secrets(await self._scope(owner, repository))}

    async def get_secret(self, name: StoredName, owner: Owner = None, repository: Repository = None) -> dict[str, Any]:
        """Tell whether a secret exists and since when; its value is never shown."""
        scope = await self._scope(owner, repository)
        return _named(await self._secrets(scope), "secret", name)

    async def put_secret(
        self, name: StoredName, body: models.StoredValue, owner: Owner = None, repository: Repository = None
    ) -> dict[str, Any]:
        """Store a secret, new or changed. Names are upper-cased, as Gitea does."""
        owner_id, repo_id = await self._scope(owner, repository)
        is_new = await self._services.vault.set_secret(
            owner_id, repo_id, name, body.value, description=body.description
        )
        return {"name": name.upper(), "is_new": is_new}

    async def delete_secret(self, name: StoredName, owner: Owner = None, repository: Repository = None) -> Response:
        """Delete a secret."""
        owner_id, repo_id = await self._scope(owner, repository)
        await self._services.vault.delete_secret(owner_id, repo_id, name)
        return Response(status_code=204)

    async def list_variables(self, owner: Owner = None, repository: Repository = None) -> dict[str, Any]:
        """List a scope's variables with their values."""
        return {"variables": await self._variables(await self._scope(owner, repository))}

    async def get_variable(
        self, name: StoredName, owner: Owner = None, repository: Repository = None
    ) -> dict[str, Any]:
        """Show one variable of a scope."""
        scope = await self._scope(owner, repository)
        return _named(await self._variables(scope), "variable", name)

    async def put_variable(
        self, name: StoredName, body: models.StoredValue, owner: Owner = None, repository: Repository = None
    ) -> dict[str, Any]:
        """Store a variable, new or changed. Names are upper-cased, as Gitea does."""
        owner_id, repo_id = await self._scope(owner, repository)
        is_new = await self._services.vault.set_variable(
            owner_id, repo_id, name, body.value, description=body.description
        )
        return {"name": name.upper(), "is_new": is_new}

    async def delete_variable(self, name: StoredName, owner: Owner = None, repository: Repository = None) -> Response:
        """Delete a variable."""
        owner_id, repo_id = await self._scope(owner, repository)
        await self._services.vault.delete_variable(owner_id, repo_id, name)
        return Response(status_code=204)

    async def _scope(self, owner: str | None, repository: str | None) -> ScopeIds:
        scope = models.Scope.model_construct(owner=owner, repository=repository)
        return await scope_ids(self._services, scope, field="query")

    async def _secrets(self, scope: ScopeIds) -> list[dict[str, Any]]:
        rows = await self._services.store.read(lambda conn: rest_queries.list_secrets(conn, *scope))
        return [
            {"name": row["name"], "description": row["description"], "created_at": precise(row["created_us"])}
            for row in rows
        ]

    async def _variables(self, scope: ScopeIds) -> list[dict[str, Any]]:
        rows = await self._services.store.read(lambda conn: rest_queries.list_variables(conn, *scope))
        return [
            {
                "name": row["name"],
                "value": row["value"],
                "description": row["description"],
                "created_at": precise(row["created_us"]),
            }
            for row in rows
        ]


def _named(found: list[dict[str, Any]], what: str, name: str) -> dict[str, Any]:
    for each in found:
        if each["name"] == name.upper():
            return each
    raise NotFound(f"name: no {what} {name!r} in this scope", field="name")
