"""Repositories and owners: the names that everything else is filed under. Nothing is ever made by accident."""

import re
from typing import Final

from mockgitea.core.errors import InvalidInput, NotFound
from mockgitea.storage import repositories as rows
from mockgitea.storage.interface import Store
from mockgitea.storage.repositories import RepositoryRecord

NAME_CHARS_MAX: Final = 100
KINDS: Final = ("user", "org")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Repositories:
    """Make and find repositories.

    Args:
        store: where they live.
    """

    def __init__(self, *, store: Store) -> None:
        self._store = store

    async def ensure(self, owner: str, name: str, kind: str = "user") -> RepositoryRecord:
        """Return the repository, made together with its owner when it is new.

        Args:
            owner: user or organisation; made as ``kind`` when it is new.
            name: of the repository.
            kind: ``user`` or ``org``.

        Raises:
            InvalidInput: a name with other characters than letters, digits, ``.``, ``_`` and ``-``, or a bad kind.
        """
        _check_name(owner, "owner")
        _check_name(name, "name")
        if kind not in KINDS:
            raise InvalidInput(f"kind: unknown {kind!r}; choose user or org", field="kind")
        return await self._store.write(lambda tx: rows.ensure_repository(tx, owner, name, kind))

    async def ensure_owner(self, name: str, kind: str = "user") -> int:
        """Return the owner's row, made when it is new.

        Raises:
            InvalidInput: as `ensure`.
        """
        _check_name(name, "owner")
        if kind not in KINDS:
            raise InvalidInput(f"kind: unknown {kind!r}; choose user or org", field="kind")
        return await self._store.write(lambda tx: rows.ensure_owner(tx, name, kind))

    async def ensure_all(self, full_names: tuple[str, ...]) -> None:
        """Make every repository of a list of ``owner/name``.

        Raises:
            InvalidInput: a text of another form.
        """
        for full_name in full_names:
            owner, name = split_full_name(full_name)
            await self.ensure(owner, name)

    async def get(self, full_name: str) -> RepositoryRecord:
        """Return an existing repository.

        Args:
            full_name: ``owner/name``.

        Raises:
            InvalidInput: a text of another form.
            NotFound: there is none; the message says how to make it.
        """
        owner, name = split_full_name(full_name)
        found = await self._store.read(lambda conn: rows.find_repository(conn, owner, name))
        if found is not None:
            return found
        known = await self._store.read(rows.repository_names)
        raise NotFound(
            f"repository: no {full_name!r} (there is {_listed(known)}); "
            "create it with POST /control/v1/repositories or start with --repositories",
            field="repository",
        )


def split_full_name(full_name: str) -> tuple[str, str]:
    """Split ``owner/name``.

    Raises:
        InvalidInput: another form.
    """
    owner, slash, name = full_name.partition("/")
    if not (owner and slash and name) or "/" in name:
        raise InvalidInput(f"repository: must be owner/name, not {full_name!r}", field="repository")
    return owner, name


def _check_name(name: str, field: str) -> None:
    if not _NAME.fullmatch(name) or len(name) > NAME_CHARS_MAX:
        raise InvalidInput(
            f"{field}: {name[:NAME_CHARS_MAX]!r} is no name; use letters, digits, . _ - (at most {NAME_CHARS_MAX})",
            field=field,
        )


def _listed(names: list[str], most: int = 5) -> str:
    if not names:
        return "none yet"
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
