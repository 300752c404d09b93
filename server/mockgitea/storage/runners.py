"""Runner rows: make, change, touch, soft-delete.

Source: docs/protocol.md, "Register and Declare".
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from mockgitea.storage.facts import RunnerRemoved
from mockgitea.storage.interface import Tx
from mockgitea.storage.schema import runner


def add(tx: Tx, values: Mapping[str, Any]) -> int:
    """Insert a runner and return its id; the values are columns of the table."""
    stamped = {**values, "created_us": tx.now_us, "updated_us": tx.now_us}
    return int(tx.conn.execute(_ADD, stamped).scalar_one())


def change(tx: Tx, runner_id: int, values: Mapping[str, Any]) -> bool:
    """Set columns of a runner that is not deleted; False when there is none."""
    stamped = {**values, "updated_us": tx.now_us}
    return tx.conn.execute(_CHANGE, {**stamped, "changed_id": runner_id}).rowcount == 1


def remove(tx: Tx, runner_id: int) -> bool:
    """Soft-delete a runner; False when it is gone already."""
    if not change(tx, runner_id, {"deleted_us": tx.now_us}):
        return False
    tx.announce(RunnerRemoved(runner_id))
    return True


def remove_if_ephemeral(tx: Tx, runner_id: int) -> bool:
    """Soft-delete a runner whose one task is over; False when it is not ephemeral or gone already."""
    ephemeral = select(runner.c.id).where(
        runner.c.id == runner_id, runner.c.is_ephemeral.is_(True), runner.c.deleted_us == 0
    )
    return tx.conn.execute(ephemeral).first() is not None and remove(tx, runner_id)


def load(conn: Connection) -> list[dict[str, Any]]:
    """Return every runner that is not deleted, oldest first."""
    rows = conn.execute(select(runner).where(runner.c.deleted_us == 0).order_by(runner.c.id)).mappings()
    return [{str(name): value for name, value in row.items()} for row in rows]


def touch(tx: Tx, seen: Sequence[tuple[int, int, int]]) -> None:
    """Write last-online and last-active times given as (runner id, online_us, active_us)."""
    rows = [{"runner": who, "online": online_us, "active": active_us} for who, online_us, active_us in seen]
    tx.conn.execute(_TOUCH, rows)


# Columns are those of the parameters: values in a statement itself would be compiled again for each runner of a fleet.
_ADD = insert(runner).returning(runner.c.id)
_CHANGE = update(runner).where(runner.c.id == bindparam("changed_id"), runner.c.deleted_us == 0)
_TOUCH = (
    update(runner)
    .where(runner.c.id == bindparam("runner"))
    .values(last_online_us=bindparam("online"), last_active_us=bindparam("active"))
)
