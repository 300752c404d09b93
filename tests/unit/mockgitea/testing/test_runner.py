import json
import stat
from pathlib import Path

from mockgitea.testing import Runner

RUNNER = Runner(3, "uuid-of-r1", "hunter2", "r1", ("linux", "arm"), "http://127.0.0.1:3000")


def test_runner_shows_no_token() -> None:
    assert "hunter2" not in repr(RUNNER)
    assert RUNNER.headers == {"x-runner-uuid": "uuid-of-r1", "x-runner-token": "hunter2"}


def test_runner_file_is_private_and_complete(tmp_path: Path) -> None:
    path = RUNNER.write_file(tmp_path / ".runner", labels=["linux:host"])
    content = json.loads(path.read_text())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {name: content[name] for name in ("id", "uuid", "name", "token", "address", "labels", "ephemeral")} == {
        "id": 3, "uuid": "uuid-of-r1", "name": "r1", "token": "hunter2", "address": "http://127.0.0.1:3000",
        "labels": ["linux:host"], "ephemeral": False,
    }  # fmt: skip
    assert json.loads(RUNNER.write_file(path).read_text())["labels"] == ["linux:host", "arm:host"]
