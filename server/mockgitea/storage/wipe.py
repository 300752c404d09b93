"""Forget everything: what a reset does to the rows. Schema and identity of the server (`meta`) stay."""

from sqlalchemy import delete, text

from mockgitea.storage.interface import Tx
from mockgitea.storage.schema import meta, metadata


def wipe(tx: Tx) -> None:
    """Delete every row of every table but `meta`; the numbers of new rows begin at 1 again.

    Peers that remember a number from before cannot do harm with it: their tokens are gone too.
    """
    for table in reversed(metadata.sorted_tables):
        if table is not meta:
            tx.conn.execute(delete(table))
    # SQLite keeps here how far each table with `sqlite_autoincrement` has counted.
    tx.conn.execute(text("DELETE FROM sqlite_sequence"))
