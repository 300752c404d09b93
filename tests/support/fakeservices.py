"""Services that remember how they were called and answer what a test wants, for tests of transports alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from actionswire.result import Result
from mockgitea.clock import MovableClock
from mockgitea.core.errors import NotRegistered
from mockgitea.core.messages import Assignment, Fetched, Registering, TaskAnswer, TaskReport
from mockgitea.core.profiles import DEFAULT_PROFILE, Profile, profile_named

TOKEN = "ab" * 20
UUID = "11111111-2222-4333-8444-555555555555"


@dataclass
class FakeRunner:
    """A runner as `RunnerRecord` shows it."""

    id: int = 7
    uuid: str = UUID
    name: str = "r1"
    version: str = "v1"
    labels: tuple[str, ...] = ("linux",)
    is_ephemeral: bool = False


def assignment(task_id: int = 1, **extra: Any) -> Assignment:
    """A small task."""
    values: dict[str, Any] = {
        "task_id": task_id, "payload": b"x", "context": {"run_id": "3"}, "secrets": {}, "vars": {}, **extra
    }  # fmt: skip
    return Assignment(**values)


@dataclass
class FakeServices:
    """Stands for `Services`; every part is this object itself."""

    profile: Profile = field(default_factory=lambda: profile_named(DEFAULT_PROFILE))
    clock: MovableClock = field(default_factory=MovableClock)
    runner: FakeRunner = field(default_factory=FakeRunner)
    answer: Any = None
    """What the next service call returns, or raises if it is an exception."""
    calls: list[tuple[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.directory = self.registration = self.dispatch = self.progress = self.logs = self

    def authenticate(self, uuid: str, token: str) -> FakeRunner:
        if (uuid, token) != (UUID, TOKEN):
            raise NotRegistered
        return self.runner

    def seen(self, record: FakeRunner, *, active: bool, now_us: int) -> None:
        self.calls.append(("seen", active))

    async def register(self, registering: Registering) -> tuple[FakeRunner, str]:
        self._note("register", registering)
        return self.runner, TOKEN

    async def declare(self, record: FakeRunner, **declared: Any) -> FakeRunner:
        self._note("declare", declared)
        return self.runner

    def has_nothing_new(self, record: FakeRunner, tasks_version: int) -> bool:
        return False

    async def fetch(self, record: FakeRunner, **asked: Any) -> Fetched:
        self._note("fetch", asked)
        return self.answer if isinstance(self.answer, Fetched) else Fetched(asked["tasks_version"] or 1)

    async def fetch_single(self, record: FakeRunner, **asked: Any) -> Fetched:
        self._note("fetch_single", asked)
        return self.answer if isinstance(self.answer, Fetched) else Fetched(asked["tasks_version"] or 1)

    async def release(self, task_ids: Sequence[int]) -> None:
        self.calls.append(("release", list(task_ids)))

    async def update_task(self, record: FakeRunner, report: TaskReport, outputs: Mapping[str, str]) -> TaskAnswer:
        self._note("update_task", (report, outputs))
        return TaskAnswer(report.task_id, Result.UNSPECIFIED, tuple(outputs))

    async def append(self, record: FakeRunner, **given: Any) -> int:
        self._note("append", given)
        return int(given["index"]) + len(given["rows"])

    def _note(self, name: str, value: Any) -> None:
        self.calls.append((name, value))
        if isinstance(self.answer, BaseException):
            raise self.answer
