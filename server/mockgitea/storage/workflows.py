"""Workflow files per repository: what can be listed, dispatched and disabled."""

from sqlalchemy import Connection, RowMapping, select, update
from sqlalchemy.dialects.sqlite import insert

from mockgitea.storage.interface import Tx
from mockgitea.storage.schema import workflow


def remember_workflow(tx: Tx, repo_id: int, file: str, *, name: str, source: bytes) -> None:
    """Store the newest content of a workflow file; whether it is enabled stays as it was."""
    values = {"name": name, "source": source, "updated_us": tx.now_us}
    statement = insert(workflow).values(repo_id=repo_id, file=file, created_us=tx.now_us, **values)
    tx.conn.execute(statement.on_conflict_do_update(index_elements=["repo_id", "file"], set_=values))


def find_workflow(conn: Connection, repo_id: int, file: str) -> RowMapping | None:
    """Return one workflow file, or None."""
    query = select(workflow).where(workflow.c.repo_id == repo_id, workflow.c.file == file)
    return conn.execute(query).mappings().first()


def is_disabled(conn: Connection, repo_id: int, file: str) -> bool:
    """Tell whether someone disabled this file; an unknown one is not."""
    found = find_workflow(conn, repo_id, file)
    return found is not None and not found["is_enabled"]


def set_workflow_enabled(tx: Tx, repo_id: int, file: str, *, is_enabled: bool) -> bool:
    """Enable or disable a workflow file.

    Returns:
        False when the repository has no such file.
    """
    where = (workflow.c.repo_id == repo_id, workflow.c.file == file)
    changed = (
        update(workflow).where(*where).values(is_enabled=is_enabled, updated_us=tx.now_us).returning(workflow.c.id)
    )
    return tx.conn.execute(changed).first() is not None
