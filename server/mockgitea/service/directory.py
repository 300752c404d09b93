"""Runners in memory: who may call, and when each was last seen.

Authentication never touches the store; last-online and last-active are written behind. The rows belong to
`storage/runners.py`, changes of them to `service/registration.py`.
Source: docs/protocol.md, "Authentication".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mockgitea.clock import SECOND_US, Clock
from mockgitea.core.errors import NotFound, NotRegistered
from mockgitea.core.profiles import Profile
from mockgitea.core.secret_hash import token_matches
from mockgitea.storage import runners
from mockgitea.storage.facts import RunnerAdded, RunnerRemoved
from mockgitea.storage.interface import Store

OFFLINE_AFTER_S: Final = 60.0
IDLE_AFTER_S: Final = 10.0
FLUSH_EVERY_S: Final = 5.0
"""How long a last-online or last-active time may wait in memory; a stop writes what is left."""


@dataclass(slots=True, eq=False)
class RunnerRecord:
    """One runner as the server knows it now. Only the directory and `Registration` change it."""

    id: int
    uuid: str
    name: str
    version: str
    description: str
    owner_id: int
    repo_id: int
    labels: tuple[str, ...]
    is_ephemeral: bool
    is_disabled: bool
    has_cancelling: bool
    last_online_us: int
    last_active_us: int
    created_us: int

    def status(self, now_us: int) -> str:
        """Return ``offline``, ``idle`` or ``active``; computed from the two times, never stored."""
        if now_us - self.last_online_us > OFFLINE_AFTER_S * SECOND_US:
            return "offline"
        if now_us - self.last_active_us > IDLE_AFTER_S * SECOND_US:
            return "idle"
        return "active"


@dataclass(frozen=True, slots=True)
class _Credential:
    record: RunnerRecord
    token_hash: str
    token_salt: str


_NOBODY: Final = ("0" * 64, "")


class RunnerDirectory:
    """Every runner that is not deleted.

    Args:
        store: where the rows live.
        clock: the server's clock.
        profile: says how stale a stored time must be before it is written again.
    """

    def __init__(self, *, store: Store, clock: Clock, profile: Profile) -> None:
        self._store = store
        self._clock = clock
        self._online_write_us = round(profile.last_online_write_s * SECOND_US)
        self._active_write_us = round(profile.last_active_write_s * SECOND_US)
        self._by_uuid: dict[str, _Credential] = {}
        self._by_id: dict[int, RunnerRecord] = {}
        self._unwritten: set[int] = set()
        store.subscribe(RunnerAdded, self._follow)
        store.subscribe(RunnerRemoved, self._forget)

    async def load(self) -> None:
        """Read all runners from the store."""
        for row in await self._store.read(runners.load):
            self._add(row)

    def authenticate(self, uuid: str, token: str) -> RunnerRecord:
        """Return the runner these headers belong to, in constant time.

        Raises:
            NotRegistered: header missing, UUID unknown, runner deleted or token wrong; never told apart.
        """
        known = self._by_uuid.get(uuid)
        digest, salt = (known.token_hash, known.token_salt) if known else _NOBODY
        if not token_matches(token, salt, digest) or known is None:
            raise NotRegistered
        return known.record

    def seen(self, record: RunnerRecord, *, active: bool, now_us: int = 0) -> None:
        """Note a call of this runner.

        Args:
            record: the caller.
            active: true for UpdateTask and UpdateLog.
            now_us: when the call arrived, if the caller knows; default: now.
        """
        now_us = now_us or self._clock.now_us()
        if now_us - record.last_online_us >= self._online_write_us:
            record.last_online_us = now_us
            self._unwritten.add(record.id)
        if active and now_us - record.last_active_us >= self._active_write_us:
            record.last_active_us = now_us
            self._unwritten.add(record.id)

    def get(self, runner_id: int) -> RunnerRecord:
        """Return one runner.

        Raises:
            NotFound: no such runner, or it was deleted.
        """
        record = self._by_id.get(runner_id)
        if record is None:
            raise NotFound(f"runner {runner_id} does not exist", field="id")
        return record

    def find(self, uuid: str) -> RunnerRecord | None:
        """Return the runner that this UUID names, without any proof that it is the caller; None when there is none."""
        known = self._by_uuid.get(uuid)
        return None if known is None else known.record

    def all(self) -> list[RunnerRecord]:
        """Return every runner, oldest first."""
        return sorted(self._by_id.values(), key=lambda record: record.id)

    def by_scope(self, owner_id: int, repo_id: int) -> list[RunnerRecord]:
        """Return the runners of exactly this scope, oldest first."""
        return [record for record in self.all() if (record.owner_id, record.repo_id) == (owner_id, repo_id)]

    def clear(self) -> None:
        """Forget everybody, after the store was wiped."""
        self._by_uuid.clear()
        self._by_id.clear()
        self._unwritten.clear()

    async def flush(self) -> None:
        """Write the last-online and last-active times that changed since the last flush."""
        if not self._unwritten:
            return
        due, self._unwritten = self._unwritten, set()
        records = [self._by_id[who] for who in sorted(due) if who in self._by_id]
        seen = [(record.id, record.last_online_us, record.last_active_us) for record in records]
        if seen:
            await self._store.write(lambda tx: runners.touch(tx, seen))

    async def forget_unwritten(self) -> None:
        """Go back to the times that are stored, as a server does that was killed before it wrote the newer ones."""
        self._unwritten.clear()
        for row in await self._store.read(runners.load):
            record = self._by_id.get(row["id"])
            if record is not None:
                record.last_online_us, record.last_active_us = row["last_online_us"], row["last_active_us"]

    async def flush_forever(self) -> None:
        """Flush every few seconds of the server's clock."""
        while True:
            await self._clock.sleep_until(self._clock.now_us() + round(FLUSH_EVERY_S * SECOND_US))
            await self.flush()

    def _follow(self, fact: RunnerAdded) -> None:
        self._add(fact.row)

    def _add(self, row: Mapping[str, Any]) -> None:
        fields = {name: row[name] for name in RunnerRecord.__slots__ if name != "labels"}
        record = RunnerRecord(**fields, labels=tuple(row["labels"]))
        self._by_uuid[record.uuid] = _Credential(record, row["token_hash"], row["token_salt"])
        self._by_id[record.id] = record

    def _forget(self, fact: RunnerRemoved) -> None:
        record = self._by_id.pop(fact.runner_id, None)
        if record is not None:
            self._by_uuid.pop(record.uuid, None)
