"""Faults and gates from a test: add, list, remove, reset; hold an answer until the test lets go of it.

Source: docs/testing.md, "Faults" and "Gates".
"""

import itertools
from types import TracebackType
from typing import Any

from mockgitea.core.call_record import CallRecord
from mockgitea.core.downtime import DownKind, Downtime, DowntimeState
from mockgitea.core.errors import InvalidInput
from mockgitea.core.faults import Fault, FaultState
from mockgitea.testing.journal import JournalView
from mockgitea.testing.runner import Runner
from mockgitea.testing.thread import ServerThread

_names = itertools.count(1)


class Faults:
    """The fault rules of one server."""

    def __init__(self, thread: ServerThread) -> None:
        self._thread = thread

    def add(self, kind: str, *, name: str = "", **rule: Any) -> str:
        """Add a rule and return its name.

        Args:
            kind: what happens, such as `refuse`, `delay`, `hold` or `lose-answer`; docs/faults.md lists them.
            name: to remove it by; made up when empty.
            rule: the other fields of the rule, such as ``method``, ``runner``, ``stage``, ``times``, ``code``.

        Raises:
            InvalidInput: a field is wrong, or this server cannot do it; the text names the field.
            TypeError: there is no such field.
        """
        fault = Fault(name=name or f"{kind}-{next(_names)}", kind=kind, **_named(rule))  # type: ignore[arg-type]  # a word
        self._thread.call(self._add(fault))
        return fault.name

    def list(self) -> tuple[FaultState, ...]:
        """Return every rule with how often it hit."""
        return self._thread.call(self._list())

    def remove(self, name: str) -> None:
        """Remove a rule; calls that it holds go on. Raises `NotFound`."""
        self._thread.call(self._remove(name))

    def add_downtime(self, kind: str, *, name: str = "", **rule: Any) -> str:
        """Add a downtime rule and return its name.

        Args:
            kind: `planned`, `refused` or `black-hole`; docs/faults.md says what each does.
            name: to remove it by; made up when empty.
            rule: the other fields of the rule.

        Raises:
            InvalidInput: a field is wrong; the text names it.
            TypeError: there is no such field.
        """
        kinds = {each.value: each for each in DownKind}
        if kind not in kinds:
            raise InvalidInput(f"kind: unknown {kind!r}; one of {', '.join(kinds)}", field="kind")
        downtime = Downtime(name=name or f"{kind}-{next(_names)}", kind=kinds[kind], **rule)
        self._thread.call(self._add_downtime(downtime))
        return downtime.name

    def list_downtimes(self) -> tuple[DowntimeState, ...]:
        """Return every downtime rule with its present or next round."""
        return self._thread.call(self._list_downtimes())

    def remove_downtime(self, name: str) -> None:
        """Remove a downtime rule; an open window ends at once. Raises `NotFound`."""
        self._thread.call(self._remove_downtime(name))

    def release(self, name: str) -> None:
        """Let the calls go on that a hold has caught; the rule stays. Raises `NotFound`."""
        self._thread.call(self._release(name))

    def reset(self) -> None:
        """Remove every rule, those of downtime too, and let every call go on that waits for one."""
        self._thread.call(self._reset())

    async def _add(self, fault: Fault) -> None:
        self._thread.app.faults.add(fault)

    async def _list(self) -> tuple[FaultState, ...]:
        return self._thread.app.faults.list()

    async def _add_downtime(self, downtime: Downtime) -> None:
        self._thread.app.faults.add_downtime(downtime)

    async def _list_downtimes(self) -> tuple[DowntimeState, ...]:
        return self._thread.app.faults.list_downtimes()

    async def _remove_downtime(self, name: str) -> None:
        self._thread.app.faults.remove_downtime(name)

    async def _remove(self, name: str) -> None:
        self._thread.app.faults.remove(name)

    async def _release(self, name: str) -> None:
        self._thread.app.faults.release(name)

    async def _reset(self) -> None:
        self._thread.app.faults.reset()


def _named(rule: dict[str, Any]) -> dict[str, Any]:
    """Let a `Runner` stand for its UUID."""
    runner = rule.get("runner")
    return {**rule, "runner": runner.uuid} if isinstance(runner, Runner) else rule


class Gate:
    """Holds calls while it is closed: from entering the `with` block to `open`, or to leaving the block."""

    def __init__(self, faults: Faults, journal: JournalView, rule: dict[str, Any]) -> None:
        self._faults = faults
        self._journal = journal
        self._rule = rule
        self.name = f"gate-{next(_names)}"

    def close(self) -> None:
        """Begin to hold calls."""
        self._faults.add("hold", name=self.name, **self._rule)

    def open(self) -> None:
        """Let the held calls go on and hold no more; safe to call twice."""
        if self.name in {state.fault.name for state in self._faults.list()}:
            self._faults.remove(self.name)

    def held(self) -> list[CallRecord]:
        """Return the calls that are held now."""
        return self._journal.calls(fault=self.name, outcome="open")

    def wait(self, n: int = 1, within: float = 5.0) -> list[CallRecord]:
        """Wait until ``n`` calls are held, and return them.

        Raises:
            UnexpectedCalls: they did not come.
        """
        return self._journal.wait_for(n=n, within=within, fault=self.name, outcome="open")

    async def wait_async(self, n: int = 1, within: float = 5.0) -> list[CallRecord]:
        """Do what `wait` does, without blocking the event loop."""
        return await self._journal.wait_for_async(n=n, within=within, fault=self.name, outcome="open")

    def __enter__(self) -> "Gate":
        self.close()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.open()
