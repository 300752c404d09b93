"""A mock server and runners as child processes, for `make demo` and `make up`; what is started here is ended here."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples" / "workflows"
START_S_MAX = 40.0
STOP_S_MAX = 15.0


class Playground:
    """A server and ``runner_count`` runners in a scratch folder.

    Args:
        runner_count: how many runners to register and start.
        serve_arguments: extra arguments of `mockgitea serve`.
        runner_settings: keys of the runner's `runner:` section.
    """

    def __init__(
        self,
        runner_count: int,
        *,
        serve_arguments: list[str] | None = None,
        runner_settings: dict[str, Any] | None = None,
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mockgitea-playground-"))
        self.runner_count = runner_count
        self.serve_arguments = serve_arguments or []
        self.runner_settings = runner_settings or {}
        self.processes: list[subprocess.Popen[bytes]] = []
        self.ready: dict[str, Any] = {}

    def __enter__(self) -> Playground:
        try:
            self._start_server()
            for number in range(1, self.runner_count + 1):
                self._start_runner(f"runner-{number}")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def runner_url(self) -> str:
        """Address of the runner port."""
        return str(self.ready["runner_url"]).rstrip("/")

    @property
    def control_url(self) -> str:
        """Address of the control port."""
        return str(self.ready["control_url"]).rstrip("/")

    def control(self, method: str, path: str, **options: Any) -> Any:
        """Call the control API and return its JSON."""
        answer = self._call(method, path, **options)
        return answer.json() if answer.content else None

    def control_text(self, path: str) -> str:
        """Get what the control API gives as plain text."""
        return self._call("GET", path).text

    def _call(self, method: str, path: str, **options: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"} if (token := self.ready.get("control_token")) else {}
        answer = httpx.request(method, f"{self.control_url}/control/v1{path}", headers=headers, timeout=15, **options)
        if answer.is_error:
            raise SystemExit(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer

    def server_ended(self) -> bool:
        """True when the server process is gone."""
        return bool(self.processes) and self.processes[0].poll() is not None

    def close(self) -> None:
        """End every process, runners first, and remove the scratch folder."""
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in reversed(self.processes):
            try:
                process.wait(STOP_S_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _spawn(self, name: str, command: list[str]) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C reaches this process alone, which then stops the rest in order
            )
        self.processes.append(process)
        return process

    def _start_server(self) -> None:
        ready_file = self.folder / "ready.json"
        process = self._spawn("server", ["mockgitea", "serve", "--ready-file", str(ready_file), *self.serve_arguments])
        deadline = time.monotonic() + START_S_MAX
        while not ready_file.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"the server did not start:\n{self.tail('server')}")
            time.sleep(0.05)
        self.ready = json.loads(ready_file.read_text())

    def _start_runner(self, name: str) -> None:
        folder = self.folder / name
        folder.mkdir()
        config = folder / "config.yaml"
        runner = {"file": str(folder / ".runner"), **self.runner_settings}
        config.write_text(json.dumps({"runner": runner, "host": {"workdir_parent": str(folder / "jobs")}}))
        command = [sys.executable, "-m", "actionsrunner", "--config", str(config), "register", "--no-interactive"]
        arguments = ["--instance", self.runner_url, "--name", name, "--labels", "ubuntu-latest:host,host:host"]
        token = {**os.environ, "GITEA_RUNNER_REGISTRATION_TOKEN": str(self.ready["registration_token"])}
        done = subprocess.run(
            [*command, *arguments], cwd=folder, env=token, capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode != 0:
            raise SystemExit(f"{name} could not register:\n{done.stdout}{done.stderr}")
        self._spawn(name, ["actionsrunner", "--config", str(config), "daemon"])

    def tail(self, name: str, length: int = 4000) -> str:
        """The end of what a process printed."""
        log = self.folder / f"{name}.log"
        return log.read_text(errors="replace")[-length:] if log.exists() else ""
