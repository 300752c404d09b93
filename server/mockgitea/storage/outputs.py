"""Job outputs as the runner sent them: one value per key and task, the first one wins.

Source: docs/protocol.md, "UpdateTask".
"""

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection, bindparam, select
from sqlalchemy.dialects.sqlite import insert

from mockgitea.storage.interface import Tx
from mockgitea.storage.prepared import Prepared, driver_of
from mockgitea.storage.schema import task_output


def add(tx: Tx, task_id: int, outputs: Mapping[str, str]) -> None:
    """Insert the outputs whose keys are new for this task."""
    if outputs:
        rows = [{"task_id": task_id, "key": key, "value": value} for key, value in outputs.items()]
        tx.conn.execute(insert(task_output).on_conflict_do_nothing(), rows)


def keys(conn: Connection, task_id: int) -> tuple[str, ...]:
    """Return every stored key of the task, sorted."""
    return tuple(key for (key,) in _KEYS.all(driver_of(conn), of_task=task_id))


def values(conn: Connection, task_id: int) -> dict[str, str]:
    """Return every stored output of the task."""
    query = select(task_output.c.key, task_output.c.value).where(task_output.c.task_id == task_id)
    return {row.key: row.value for row in conn.execute(query.order_by(task_output.c.key))}


_KEYS: Final = Prepared(
    select(task_output.c.key).where(task_output.c.task_id == bindparam("of_task")).order_by(task_output.c.key)
)
