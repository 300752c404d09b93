"""From the names of a scope to the numbers that the store keys by."""

from mockgitea.core.errors import InvalidInput, NotFound
from mockgitea.service.container import Services
from mockgitea.storage.repositories import owner_id_of
from mockgitea.transport.control.models import Scope

ScopeIds = tuple[int, int]
"""(owner_id, repo_id): (0, 0) is the whole server."""


async def scope_ids(services: Services, scope: Scope, *, field: str = "scope") -> ScopeIds:
    """Return the numbers of a scope.

    Raises:
        InvalidInput: owner and repository are both given.
        NotFound: no such owner or repository; the message names the fix.
    """
    if scope.owner and scope.repository:
        raise InvalidInput(f"{field}: give either owner or repository, not both", field=field)
    if scope.repository:
        return 0, (await services.repositories.get(scope.repository)).id
    if scope.owner:
        name = scope.owner
        found = await services.store.read(lambda conn: owner_id_of(conn, name))
        if not found:
            raise NotFound(f"{field}.owner: no owner {name!r}; POST /control/v1/repositories creates one", field=field)
        return found, 0
    return 0, 0
