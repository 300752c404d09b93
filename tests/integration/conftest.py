"""Real processes: one server per test, as many runners as the test asks for, everything ended afterwards."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runnerproc import RunnerProcess
from serverproc import Mock, ServerProcess


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Mock]]:
    """Start `mockgitea serve` with extra arguments."""
    started: list[ServerProcess] = []

    def start(*arguments: str, profile: str = "gitea-1.27") -> Mock:
        folder = tmp_path / f"server-{len(started)}"
        folder.mkdir()
        base = ["--port", "0", "--control-port", "0", "--profile", profile]
        started.append(ServerProcess(*base, *arguments, folder=folder))
        return Mock(started[-1], profile)

    yield start
    for process in started:
        process.kill()


@pytest.fixture
def runners(tmp_path: Path) -> Iterator[Callable[..., RunnerProcess]]:
    """Register and start `actionsrunner daemon` processes."""
    started: list[RunnerProcess] = []

    def start(mock: Mock, **options: Any) -> RunnerProcess:
        options.setdefault("name", f"r{len(started) + 1}")
        folder = tmp_path / f"runner-{len(started)}"
        folder.mkdir()
        started.append(RunnerProcess(mock, folder=folder, **options))
        return started[-1]

    yield start
    for process in started:
        process.kill()
