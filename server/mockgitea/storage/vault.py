"""Secrets and variables per scope, and what a job of a repository sees of them.

Values are kept as they came: this is a test double, and a test wants to look. They leave only through the functions
that build a task.
"""

from typing import Final

from sqlalchemy import ColumnElement, Connection, Table, and_, bindparam, delete, or_, select
from sqlalchemy.dialects.sqlite import insert

from mockgitea.storage.interface import Tx
from mockgitea.storage.prepared import Prepared, driver_of
from mockgitea.storage.schema import secret, variable
from mockgitea.storage.versions import Scope


def put(tx: Tx, table: Table, scope: Scope, *, name: str, value: str, description: str = "") -> bool:
    """Store a secret or variable; an existing one is replaced.

    Args:
        tx: the open transaction.
        table: `schema.secret` or `schema.variable`.
        scope: whom it belongs to.
        name: upper-case, already checked.
        value: its text.
        description: for people; replaces an earlier one.

    Returns:
        True when it is new.
    """
    is_new = tx.conn.execute(select(table.c.id).where(*_at(table, scope, name))).first() is None
    values = {"value": value, "description": description}
    row = {"owner_id": scope[0], "repo_id": scope[1], "name": name, "created_us": tx.now_us, **values}
    statement = insert(table).values(row)
    tx.conn.execute(statement.on_conflict_do_update(index_elements=["owner_id", "repo_id", "name"], set_=values))
    return is_new


def exists(conn: Connection, table: Table, scope: Scope, name: str) -> bool:
    """Tell whether a scope has a secret or variable of this name."""
    return conn.execute(select(table.c.id).where(*_at(table, scope, name))).first() is not None


def rename(tx: Tx, table: Table, scope: Scope, *, name: str, new_name: str) -> None:
    """Give a secret or variable another name, which must be free."""
    tx.conn.execute(table.update().where(*_at(table, scope, name)).values(name=new_name))


def remove(tx: Tx, table: Table, scope: Scope, name: str) -> bool:
    """Delete a secret or variable; False when there is none."""
    return tx.conn.execute(delete(table).where(*_at(table, scope, name)).returning(table.c.id)).first() is not None


def secrets_for(conn: Connection, *, owner_id: int, repo_id: int) -> dict[str, str]:
    """Return the secrets of a repository's jobs: the owner's, overlaid by the repository's."""
    return _overlaid(conn, _SECRETS, [(owner_id, 0), (0, repo_id)])


def vars_for(conn: Connection, *, owner_id: int, repo_id: int) -> dict[str, str]:
    """Return the variables of a repository's jobs: global, overlaid by the owner's, then the repository's."""
    return _overlaid(conn, _VARIABLES, [(0, 0), (owner_id, 0), (0, repo_id)])


def _overlaid(conn: Connection, statement: Prepared, scopes: list[Scope]) -> dict[str, str]:
    (owner_id, _), (_, repo_id) = scopes[-2:]
    rows = statement.all(driver_of(conn), of_owner=owner_id, of_repo=repo_id)
    rank = {scope: position for position, scope in enumerate(scopes)}
    return {row[2]: row[3] for row in sorted(rows, key=lambda row: (rank[row[0], row[1]], row[2]))}


def _at(table: Table, scope: Scope, name: str) -> tuple[ColumnElement[bool], ...]:
    return (table.c.owner_id == scope[0], table.c.repo_id == scope[1], table.c.name == name)


def _overlay(table: Table, *, with_global: bool) -> Prepared:
    columns = table.c
    of_owner = and_(columns.owner_id == bindparam("of_owner"), columns.repo_id == 0)
    of_repo = and_(columns.owner_id == 0, columns.repo_id == bindparam("of_repo"))
    of_all = and_(columns.owner_id == 0, columns.repo_id == 0)
    wanted = or_(of_owner, of_repo, of_all) if with_global else or_(of_owner, of_repo)
    return Prepared(select(columns.owner_id, columns.repo_id, columns.name, columns.value).where(wanted))


# Every claim reads both.
_SECRETS: Final = _overlay(secret, with_global=False)
_VARIABLES: Final = _overlay(variable, with_global=True)
