"""Workflow files per repository: what can be listed, dispatched and disabled."""

from typing import Final

from sqlalchemy import Connection, RowMapping, bindparam, select, update
from sqlalchemy.dialects.sqlite import insert

from mockgitea.storage.interface import Tx
from mockgitea.storage.schema import workflow


def remember_workflow(tx: Tx, repo_id: int, file: str, *, name: str, source: bytes) -> None:
    """Store the newest content of a workflow file; whether it is enabled stays as it was."""
    values = {"repo_id": repo_id, "file": file, "name": name, "source": source}
    tx.conn.execute(_REMEMBER, values | {"created_us": tx.now_us, "updated_us": tx.now_us})


def find_workflow(conn: Connection, repo_id: int, file: str) -> RowMapping | None:
    """Return one workflow file, or None."""
    return conn.execute(_FIND, {"of_repo": repo_id, "of_file": file}).mappings().first()


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


# Built once, since every new run needs them, and building a statement costs more than running it.
_FIND: Final = select(workflow).where(
    workflow.c.repo_id == bindparam("of_repo"), workflow.c.file == bindparam("of_file")
)
_NEW: Final = insert(workflow)
_REMEMBER: Final = _NEW.on_conflict_do_update(
    index_elements=["repo_id", "file"],
    set_={name: _NEW.excluded[name] for name in ("name", "source", "updated_us")},
)
