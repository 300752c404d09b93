"""The server that fuzz tests shoot at: a real process, and the questions whether it took harm.

A fuzz run passes when nothing was answered 500 without a documented reason, nothing hung, the program's log holds no
traceback, the counters add up, and the process did not grow.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psutil

from eventually import eventually
from serverproc import Identity, Mock, ServerProcess

SEED = "20261201"
API_TOKEN = "fuzz-api-token"
JOURNAL_ENTRIES = 500
RSS_GROWTH_BYTES_MAX = 96 * 1024 * 1024
"""Room for the journal, for what the run stored in memory, and for the allocator's moods; a leak passes it."""
IDLE_FDS_GROWTH_MAX = 4
THREADS_GROWTH_MAX = 4
_HARM = re.compile(r"Traceback|call_failed|request_failed|_failed\b.*exc|background_task_failed|store_callback_failed")


@dataclass(frozen=True)
class Size:
    """How large the process is."""

    rss: int
    fds: int
    threads: int


class FuzzServer:
    """One server under fire.

    Args:
        process: the running server.
        profile: what it imitates.
    """

    def __init__(self, process: ServerProcess, profile: str) -> None:
        self.process = process
        self.mock = Mock(process, profile)
        self.runner: Identity = self.mock.runner(name="fuzz")
        """Makes the wild calls; they may declare its labels away."""
        self.worker: Identity = self.mock.runner(name="worker")
        """Owns the tasks."""
        self._watched = psutil.Process(process.process.pid)
        self._log_seen = len(process.log_text())
        self.mock.ping("warm")
        self.before = self.size()

    def size(self) -> Size:
        """Measure the process."""
        return Size(self._watched.memory_info().rss, self._watched.num_fds(), self._watched.num_threads())

    def task(self) -> int:
        """Hand the worker a job and return the task's number."""
        self.mock.enqueue("on: push\njobs:\n  j:\n    runs-on: linux\n    steps:\n      - run: echo\n")
        return int(self.mock.take(self.worker).id)

    def harm(self) -> list[str]:
        """Return what the log says of trouble since the last look."""
        text = self.process.log_text()
        fresh, self._log_seen = text[self._log_seen :], len(text)
        return [line[:2000] for line in fresh.splitlines() if _HARM.search(line)]

    def check(self) -> None:
        """Assert that the server is unharmed."""
        assert self.process.process.poll() is None, f"the server died:\n{self.process.log_text()[-4000:]}"
        assert self.mock.ping("still there") == "Hello, still there!"
        assert not (found := self.harm()), found
        self.mock.settle()
        eventually(self._open_calls, lambda number: number == 0, within_s=10)
        after = self.size()
        calls = self.mock.control("GET", "/journal", limit=1)["opened_total"]
        print(f"{calls} calls on the runner port; before {self.before}, after {after}")
        assert after.rss - self.before.rss < RSS_GROWTH_BYTES_MAX, (self.before, after)
        assert after.threads - self.before.threads <= THREADS_GROWTH_MAX, (self.before, after)
        eventually(lambda: self.size().fds - self.before.fds, lambda more: more <= IDLE_FDS_GROWTH_MAX, within_s=10)

    def _open_calls(self) -> int:
        """Return the calls opened and not counted: 0 once all are over, because every call is counted once."""
        journal = self.mock.control("GET", "/journal", limit=1000)
        assert len(journal["entries"]) <= JOURNAL_ENTRIES
        counters: dict[str, Any] = self.mock.control("GET", "/counters")
        counted = sum(number for outcomes in counters["calls"].values() for number in outcomes.values())
        assert counted == counters["total"]
        return int(journal["opened_total"] - counted)


@contextmanager
def fuzz_server(profile: str = "gitea-1.27", *arguments: str) -> Iterator[FuzzServer]:
    """Run a server in memory with small limits, so that a limit that does not hold shows."""
    print(f"server seed {SEED}")
    base = ["--port", "0", "--control-port", "0", "--profile", profile, "--clock", "offset", "--seed", SEED]
    limits = ["--journal-entries", str(JOURNAL_ENTRIES), "--api-token", API_TOKEN, "--body-bytes-max", "2097152"]
    process = ServerProcess(*base, *limits, *arguments)
    try:
        yield FuzzServer(process, profile)
    finally:
        process.kill()
