"""Registration tokens: one active per scope, older ones kept so that they can be refused by name.

Source: docs/protocol.md, "Register and Declare".
"""

from dataclasses import dataclass

from sqlalchemy import insert, select, update

from mockgitea.core.errors import BadRegistration, RegistrationFault
from mockgitea.storage.interface import Tx
from mockgitea.storage.schema import owner, registration_token, repository


@dataclass(frozen=True, slots=True)
class TokenScope:
    """What a registration token is good for."""

    owner_id: int
    repo_id: int


def check(tx: Tx, token: str) -> TokenScope:
    """Return the scope of a usable registration token.

    Raises:
        BadRegistration: the token is unknown or a newer one replaced it.
        RegistrationFault: its owner or repository is gone.
    """
    row = tx.conn.execute(select(registration_token).where(registration_token.c.token == token)).first()
    if row is None:
        raise BadRegistration("runner registration token not found")
    if not row.is_active:
        raise BadRegistration("runner registration token has been invalidated, please use the latest one")
    if row.owner_id and tx.conn.execute(select(owner.c.id).where(owner.c.id == row.owner_id)).first() is None:
        raise RegistrationFault("owner of the token not found")
    if row.repo_id and tx.conn.execute(select(repository.c.id).where(repository.c.id == row.repo_id)).first() is None:
        raise RegistrationFault("repository of the token not found")
    return TokenScope(row.owner_id, row.repo_id)


def active(tx: Tx, owner_id: int, repo_id: int) -> str | None:
    """Return the scope's active token."""
    query = (
        select(registration_token.c.token)
        .where(registration_token.c.owner_id == owner_id, registration_token.c.repo_id == repo_id)
        .where(registration_token.c.is_active.is_(True))
        .order_by(registration_token.c.id.desc())
        .limit(1)
    )
    found: str | None = tx.conn.execute(query).scalar()
    return found


def renew(tx: Tx, owner_id: int, repo_id: int, token: str) -> str:
    """Make ``token`` the scope's only active one and return it."""
    scope = (registration_token.c.owner_id == owner_id, registration_token.c.repo_id == repo_id)
    tx.conn.execute(update(registration_token).where(*scope).values(is_active=False))
    values = {"token": token, "owner_id": owner_id, "repo_id": repo_id, "created_us": tx.now_us}
    tx.conn.execute(insert(registration_token).values(values))
    return token


def is_known(tx: Tx, token: str) -> bool:
    """Tell whether the token was ever issued, active or not."""
    query = select(registration_token.c.id).where(registration_token.c.token == token)
    return tx.conn.execute(query).first() is not None
