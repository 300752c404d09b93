"""tasks_version in memory: what FetchTask compares without touching the store, and who waits for a change.

The store is the authority; this copy follows its committed bumps. Knows nothing of jobs or runners.
Source: docs/protocol.md, "tasks_version".
"""

import asyncio

from mockgitea.storage import versions
from mockgitea.storage.facts import VersionBumped
from mockgitea.storage.interface import Store
from mockgitea.storage.versions import Scope


class TaskVersions:
    """The current counter of every scope.

    Args:
        store: where the counters live; its committed bumps are followed from construction on.
    """

    def __init__(self, *, store: Store) -> None:
        self._store = store
        self._current: dict[Scope, int] = {}
        self._waiting: dict[Scope, set[asyncio.Future[None]]] = {}
        store.subscribe(VersionBumped, self._follow)

    async def load(self) -> None:
        """Read all counters from the store."""
        self._current.update(await self._store.read(versions.load))

    def clear(self) -> None:
        """Forget every counter, after the store was wiped."""
        self._current.clear()

    def current(self, owner_id: int, repo_id: int) -> int:
        """Return the counter of exactly this scope; 0 when it has never been bumped."""
        return self._current.get((owner_id, repo_id), 0)

    async def changed(self, owner_id: int, repo_id: int, *, beyond: int) -> int:
        """Wait until the scope's counter differs from ``beyond`` and return it; the caller brings the deadline."""
        scope = (owner_id, repo_id)
        while (now := self.current(owner_id, repo_id)) == beyond:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            waiters = self._waiting.setdefault(scope, set())
            waiters.add(waiter)
            try:
                await waiter
            finally:
                waiters.discard(waiter)
                if not waiters and self._waiting.get(scope) is waiters:
                    del self._waiting[scope]
        return now

    def _follow(self, fact: VersionBumped) -> None:
        scope = (fact.owner_id, fact.repo_id)
        self._current[scope] = max(fact.version, self._current.get(scope, 0))
        for waiter in self._waiting.pop(scope, ()):
            if not waiter.done():
                waiter.set_result(None)
