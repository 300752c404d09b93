"""The server's clock as a test moves it. Source: docs/testing.md, "Time"."""

from mockgitea.testing.thread import ServerThread


class Clock:
    """The clock of one server; it can be moved in the modes `offset` (the default here) and `manual`."""

    def __init__(self, thread: ServerThread) -> None:
        self._thread = thread

    @property
    def mode(self) -> str:
        """`system`, `offset` or `manual`."""
        return self._thread.app.services.clock.mode

    @property
    def now_us(self) -> int:
        """The server's time in microseconds since the Unix epoch."""
        return self._thread.call(self._now())

    def advance(self, seconds: float) -> int:
        """Move the clock forward and return when everything that fell due has been done.

        Returns:
            The new time in microseconds since the Unix epoch.

        Raises:
            ValueError: the clock cannot be moved, or not so far.
        """
        return self._thread.call(self._advance(seconds))

    async def _now(self) -> int:
        return self._thread.app.services.clock.now_us()

    async def _advance(self, seconds: float) -> int:
        services = self._thread.app.services
        now_us = services.clock.advance(seconds)
        await services.settle()
        return now_us
