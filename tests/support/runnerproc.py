"""A real `actionsrunner daemon` process with a folder, a registration and a configuration of its own."""

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eventually import eventually
from serverproc import Mock, scrubbed_environment

STOP_S_MAX = 40.0
FAST = {"fetch_interval": "200ms", "fetch_interval_max": "500ms"}
"""Polling ten times as eager as the default, so that tests do not wait; reporting keeps its real defaults."""


class RunnerProcess:
    """`actionsrunner register` once, then `actionsrunner daemon` as a child process."""

    def __init__(
        self, mock: Mock, *, name: str = "r1", labels: Sequence[str] = ("linux:host",), capacity: int = 1,
        ephemeral: bool = False, settings: dict[str, Any] | None = None, folder: Path | None = None,
        sections: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.folder = folder or Path(tempfile.mkdtemp(prefix=f"actionsrunner-{name}-"))
        self.log = self.folder / "runner.log"
        self.config = self.folder / "config.yaml"
        runner = {"capacity": capacity, "file": str(self.folder / ".runner"), **FAST, **(settings or {})}
        host = {"workdir_parent": str(self.folder / "jobs")}
        other = {"cache": {"enabled": False}, **(sections or {})}
        self.config.write_text(json.dumps({"runner": runner, "host": host, **other}))
        if not (self.folder / ".runner").exists():
            self.register(mock, name, labels, ephemeral=ephemeral)
        self.identity = json.loads((self.folder / ".runner").read_text())
        self.start()

    def register(self, mock: Mock, name: str, labels: Sequence[str], *, ephemeral: bool) -> None:
        """Register as a person would."""
        command = [
            *("register", "--no-interactive", "--instance", mock.ready["runner_url"], "--name", name),
            *("--token", mock.registration_token(), "--labels", ",".join(labels)),
            *(["--ephemeral"] if ephemeral else []),
        ]
        done = self.command(*command)
        assert done.returncode == 0, done.stdout + done.stderr

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one `actionsrunner` command to its end."""
        return subprocess.run(
            [sys.executable, "-m", "actionsrunner", "--config", str(self.config), *arguments],
            cwd=self.folder, env=scrubbed_environment(), capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    def start(self) -> None:
        """Start the daemon."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "actionsrunner", "--config", str(self.config), "daemon"],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=scrubbed_environment(),
            )  # fmt: skip

    def log_text(self) -> str:
        """What the daemon printed so far."""
        return self.log.read_text(errors="replace")

    def wait(self, within_s: float = STOP_S_MAX) -> int:
        """Wait for the daemon's own end; returns the exit code."""
        try:
            return self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"runner did not end:\n{self.log_text()[-4000:]}") from None

    def stop(self) -> int:
        """Ask the daemon to stop (SIGTERM) and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.wait()
        finally:
            self.kill()

    def kill(self) -> None:
        """End the daemon at once (SIGKILL)."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def finished(mock: Mock, run_id: int, *, within_s: float = 60.0) -> Any:
    """Wait until the run and all its jobs are final; returns the run."""
    final = {"success", "failure", "cancelled", "skipped"}
    return eventually(
        lambda: mock.run(run_id),
        lambda run: run["status"] in final and all(job["status"] in final for job in run["jobs"]),
        within_s=within_s,
    )


def log_rows(mock: Mock, task_id: int) -> list[str]:
    """The rows of a task without their times."""
    return [line.split(" ", 1)[1] if " " in line else "" for line in mock.log(task_id).splitlines()]
