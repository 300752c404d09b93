"""tasks_version counters: one per scope, only ever growing.

Source: docs/protocol.md, "tasks_version".
"""

from typing import Final

from sqlalchemy import Connection, bindparam, select
from sqlalchemy.dialects.sqlite import insert

from mockgitea.storage.facts import VersionBumped
from mockgitea.storage.interface import Tx
from mockgitea.storage.prepared import Prepared
from mockgitea.storage.schema import tasks_version

Scope = tuple[int, int]
"""(owner id, repository id); (0, 0) is global, (0, repository) a repository."""


def bump(tx: Tx, owner_id: int, repo_id: int) -> None:
    """Count up the global counter, then the owner's and the repository's where there is one."""
    scopes: list[Scope] = [(0, 0)]
    if owner_id:
        scopes.append((owner_id, 0))
    if repo_id:
        scopes.append((0, repo_id))
    for scope in scopes:
        [(version,)] = _BUMP.all(tx.driver, of_owner=scope[0], of_repo=scope[1], first=1)
        tx.announce(VersionBumped(scope[0], scope[1], version))


_BUMP: Final = Prepared(
    insert(tasks_version)
    .values(owner_id=bindparam("of_owner"), repo_id=bindparam("of_repo"), version=bindparam("first"))
    .on_conflict_do_update(
        index_elements=[tasks_version.c.owner_id, tasks_version.c.repo_id],
        set_={"version": tasks_version.c.version + 1},
    )
    .returning(tasks_version.c.version)
)


def load(conn: Connection) -> dict[Scope, int]:
    """Return every counter."""
    rows = conn.execute(select(tasks_version.c.owner_id, tasks_version.c.repo_id, tasks_version.c.version))
    return {(row.owner_id, row.repo_id): row.version for row in rows}
