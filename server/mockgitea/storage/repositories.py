"""Owners and repositories: make them, find them.

Names are compared without regard to case, as the real servers do.
"""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, RowMapping, Select, bindparam, func, select

from mockgitea.storage.interface import Tx
from mockgitea.storage.prepared import Prepared, driver_of
from mockgitea.storage.schema import owner, repository


@dataclass(frozen=True, slots=True)
class RepositoryRecord:
    """One repository with its owner."""

    id: int
    owner_id: int
    owner_name: str
    name: str
    default_branch: str
    has_actions: bool

    @property
    def full_name(self) -> str:
        """``owner/name``."""
        return f"{self.owner_name}/{self.name}"


def ensure_owner(tx: Tx, name: str, kind: str) -> int:
    """Return the id of the owner of this name, made as ``kind`` when it is new."""
    found = owner_id_of(tx.conn, name)
    if found:
        return found
    made: int = tx.conn.execute(owner.insert().values(name=name, kind=kind).returning(owner.c.id)).scalar_one()
    return made


def ensure_repository(tx: Tx, owner_name: str, name: str, kind: str) -> RepositoryRecord:
    """Return the repository of this name, made together with its owner when it is new."""
    found = find_repository(tx.conn, owner_name, name)
    if found is not None:
        return found
    owner_id = ensure_owner(tx, owner_name, kind)
    spelled = tx.conn.execute(select(owner.c.name).where(owner.c.id == owner_id)).scalar_one()
    values = {"owner_id": owner_id, "owner_name": spelled, "name": name, "created_us": tx.now_us}
    tx.conn.execute(repository.insert().values(values))
    made = find_repository(tx.conn, owner_name, name)
    assert made is not None
    return made


def find_repository(conn: Connection, owner_name: str, name: str) -> RepositoryRecord | None:
    """Return the repository of this name, or None."""
    lower = {"of_owner": owner_name.lower(), "of_name": name.lower()}
    return _record(conn.execute(_BY_NAME, lower).mappings().first())


def repository_of(conn: Connection, repo_id: int) -> RepositoryRecord:
    """Return the repository of this row; it has to exist."""
    found = _record(conn.execute(_BY_ID, {"repo": repo_id}).mappings().first())
    assert found is not None, repo_id
    return found


def repository_names(conn: Connection) -> list[str]:
    """Return all repositories as ``owner/name``, oldest first."""
    rows = conn.execute(select(repository.c.owner_name, repository.c.name).order_by(repository.c.id))
    return [f"{row.owner_name}/{row.name}" for row in rows]


def owner_id_of(conn: Connection, name: str) -> int:
    """Return the id of the owner of this name, 0 when there is none."""
    found = _OWNER_BY_NAME.first(driver_of(conn), lower=name.lower())
    return found[0] if found else 0


def _repositories() -> Select[int, int, str, str, str, bool]:
    columns = repository.c
    return select(
        columns.id, columns.owner_id, columns.owner_name, columns.name, columns.default_branch, columns.has_actions
    )


def _record(row: RowMapping | None) -> RepositoryRecord | None:
    return None if row is None else RepositoryRecord(**row)


# Built once, because every claim runs them.
_BY_ID: Final = _repositories().where(repository.c.id == bindparam("repo"))
_BY_NAME: Final = _repositories().where(
    func.lower(repository.c.owner_name) == bindparam("of_owner"), func.lower(repository.c.name) == bindparam("of_name")
)
_OWNER_BY_NAME: Final = Prepared(select(owner.c.id).where(func.lower(owner.c.name) == bindparam("lower")))
