"""How a running job learns that it must stop. Implements `CancelSignal`; decides nothing."""

import asyncio


class CancelToken:
    """Set at most once; the first reason counts."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._forced = asyncio.Event()
        self._reason: str | None = None

    @property
    def reason(self) -> str | None:
        """None while the job may go on, else why it must not."""
        return self._reason

    def cancel(self, reason: str) -> bool:
        """Stop the job for ``reason``; False if it was stopped before."""
        if self._reason is not None:
            return False
        self._reason = reason
        self._event.set()
        return True

    async def wait(self) -> str:
        """Return the reason as soon as there is one."""
        await self._event.wait()
        assert self._reason is not None
        return self._reason

    def force(self) -> None:
        """Say that no process may be waited for any more."""
        self._forced.set()

    async def wait_forced(self) -> None:
        """Return when every process must be killed at once."""
        await self._forced.wait()
