"""The secret that signs runtime tokens; it lives in the database, so that tokens stay valid over a restart."""

from typing import Final

from sqlalchemy import Connection, select

from mockgitea.storage.interface import Tx
from mockgitea.storage.schema import meta

_KEY: Final = "runtime_token_secret"
_SELECT: Final = select(meta.c.value).where(meta.c.key == _KEY)


def signing_secret(conn: Connection) -> str | None:
    """Return the secret; None while no token has been signed."""
    found: str | None = conn.execute(_SELECT).scalar_one_or_none()
    return found


def keep_signing_secret(tx: Tx, fresh: str) -> str:
    """Return the secret, which is ``fresh`` in a database that has none."""
    found = signing_secret(tx.conn)
    if found is None:
        tx.conn.execute(meta.insert().values(key=_KEY, value=fresh))
    return found or fresh
