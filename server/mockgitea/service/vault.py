"""Secrets and variables: checked, stored per scope, never shown again (secrets).

Source: docs/protocol.md, "Secrets and variables".
"""

from sqlalchemy import Table

from mockgitea.core.errors import Conflict, InvalidInput, NotFound
from mockgitea.core.profiles import Profile
from mockgitea.core.vault_names import DESCRIPTION_CHARS_MAX, checked_name, checked_value, checked_variable_name
from mockgitea.storage import vault as rows
from mockgitea.storage.interface import Store, Tx
from mockgitea.storage.schema import secret, variable
from mockgitea.storage.versions import Scope


class Vault:
    """Set and delete secrets and variables.

    A scope is ``(0, 0)`` for the whole server (variables only), ``(owner, 0)`` or ``(0, repository)``.

    Args:
        store: where they live.
        profile: which names are refused.
    """

    def __init__(self, *, store: Store, profile: Profile) -> None:
        self._store = store
        self._profile = profile

    async def set_secret(self, owner_id: int, repo_id: int, name: str, value: str, *, description: str = "") -> bool:
        """Store a secret; True when it is new.

        Raises:
            InvalidInput: a bad name or value, or the global scope, which has no secrets on a real server.
        """
        if not owner_id and not repo_id:
            raise InvalidInput("scope: secrets belong to an owner or a repository; name one", field="scope")
        upper = checked_name(name, profile=self._profile)
        return await self._put(secret, (owner_id, repo_id), upper, value, description)

    async def set_variable(self, owner_id: int, repo_id: int, name: str, value: str, *, description: str = "") -> bool:
        """Store a variable; True when it is new.

        Raises:
            InvalidInput: a bad name or value.
        """
        upper = checked_variable_name(name, profile=self._profile)
        return await self._put(variable, (owner_id, repo_id), upper, value, description)

    async def create_variable(
        self, owner_id: int, repo_id: int, name: str, value: str, *, description: str = ""
    ) -> None:
        """Store a variable that must not exist yet.

        Raises:
            InvalidInput: a bad name or value.
            Conflict: it exists.
        """
        scope = (owner_id, repo_id)
        upper = checked_variable_name(name, profile=self._profile)
        text = checked_value(value)

        def intent(tx: Tx) -> None:
            if rows.exists(tx.conn, variable, scope, upper):
                raise Conflict(f"name: variable {upper} already exists; change it with PUT", field="name")
            rows.put(tx, variable, scope, name=upper, value=text, description=_cut(description))

        await self._store.write(intent)

    async def update_variable(
        self, owner_id: int, repo_id: int, name: str, value: str, *, new_name: str = "", description: str = ""
    ) -> None:
        """Change a variable that must exist; an absent description clears it.

        Raises:
            InvalidInput: a bad name or value.
            NotFound: it does not exist.
            Conflict: the new name is taken.
        """
        scope = (owner_id, repo_id)
        target = checked_variable_name(new_name or name, profile=self._profile)
        text = checked_value(value)
        upper = name.upper()

        def intent(tx: Tx) -> None:
            if not rows.exists(tx.conn, variable, scope, upper):
                raise NotFound(f"name: no variable {upper}", field="name")
            if target != upper:
                if rows.exists(tx.conn, variable, scope, target):
                    raise Conflict(f"name: variable {target} already exists; choose another name", field="name")
                rows.rename(tx, variable, scope, name=upper, new_name=target)
            rows.put(tx, variable, scope, name=target, value=text, description=_cut(description))

        await self._store.write(intent)

    async def delete_secret(self, owner_id: int, repo_id: int, name: str) -> None:
        """Delete a secret.

        Raises:
            NotFound: it does not exist.
        """
        await self._delete(secret, (owner_id, repo_id), name)

    async def delete_variable(self, owner_id: int, repo_id: int, name: str) -> None:
        """Delete a variable.

        Raises:
            NotFound: it does not exist.
        """
        await self._delete(variable, (owner_id, repo_id), name)

    async def _put(self, table: Table, scope: Scope, name: str, value: str, description: str) -> bool:
        text = checked_value(value)
        return await self._store.write(
            lambda tx: rows.put(tx, table, scope, name=name, value=text, description=_cut(description))
        )

    async def _delete(self, table: Table, scope: Scope, name: str) -> None:
        if not await self._store.write(lambda tx: rows.remove(tx, table, scope, name.upper())):
            raise NotFound(f"name: no {table.name} {name.upper()}", field="name")


def _cut(description: str) -> str:
    return description[:DESCRIPTION_CHARS_MAX]
