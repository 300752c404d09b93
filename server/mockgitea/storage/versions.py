"""tasks_version counters: one per scope, only ever growing.

Source: docs/protocol.md, "tasks_version".
"""

from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert

from mockgitea.storage.facts import VersionBumped
from mockgitea.storage.interface import Tx
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
        version = tx.conn.execute(_BUMP, {"owner_id": scope[0], "repo_id": scope[1], "version": 1}).scalar_one()
        tx.announce(VersionBumped(scope[0], scope[1], version))


_BUMP = (
    insert(tasks_version)
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
