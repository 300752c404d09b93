"""A real runner's session: the audit finds nothing in it, and it replays against a fresh server alike."""

from pathlib import Path
from typing import Any

import pytest

from mockgitea import cli
from mockgitea.testing import MockGitea
from runnerproc import RunnerProcess

WORKFLOW = """
on: push
jobs:
  build:
    runs-on: linux
    outputs:
      answer: ${{ steps.count.outputs.answer }}
    steps:
      - run: for i in 1 2 3; do echo "row $i"; done
      - id: count
        run: echo "answer=42" >> "$GITHUB_OUTPUT"
  after:
    needs: build
    runs-on: linux
    steps:
      - run: exit 3
"""


class Registrar:
    """What `RunnerProcess` needs of a server."""

    def __init__(self, server: MockGitea) -> None:
        self.ready = {"runner_url": server.url}
        self._token = server.registration_token

    def registration_token(self) -> str:
        return self._token


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A session in which a real runner ran two jobs, judged and exported."""
    path = tmp_path / "session.jsonl"
    with MockGitea() as server:
        folder = tmp_path / "runner"
        folder.mkdir()
        registrar: Any = Registrar(server)
        runner = RunnerProcess(registrar, folder=folder)
        try:
            run = server.enqueue(WORKFLOW)
            assert run.wait(within=60) == "failure"
            assert "row 3" in run.log("build")
            assert run.job("build")["task"]["outputs"] == {"answer": "42"}
            mark = server.journal.mark()
            assert runner.stop() == 0
        finally:
            runner.kill()
        # A poll that was under way when the signal came may still be counted after the mark; none may follow it.
        report = server.audit(capacity={"r1": 1}, stopped={"r1": mark + 1}, heartbeat_s=30)
        assert report.is_clean, f"{report}\n{server.journal.tail()}"
        server.journal.assert_order(
            "Register", "Declare", {"outcome": "task"}, {"method": "UpdateLog", "request": {"no_more": True}},
            {"method": "UpdateTask", "request": {"state.result": "success"}}, {"outcome": "task"},
        )  # fmt: skip
        server.journal.export_jsonl(path)
    return path


def test_session_of_a_real_runner_is_clean_and_replays_alike(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["audit", str(recorded), "--capacity", "r1=1"]) == 0
    assert "no rule was broken" in capsys.readouterr().out
    with MockGitea() as fresh:
        code = cli.main(["replay", str(recorded), "--server", fresh.control_url])
        shown = capsys.readouterr()
        assert (code, shown.err) == (0, ""), shown.out
        assert " 0 differences" in shown.out
        assert "skipped" not in shown.out
        # Two recorded tasks of two jobs became two runs with one job each; every row and result arrived again.
        first, second = [fresh.run(number) for number in (1, 2)]
        assert (first.status, second.status) == ("success", "failure")
        assert "row 3" in first.log("build")
        assert fresh.audit(capacity={"r1": 1}).is_clean, str(fresh.audit())


def test_replay_tells_what_another_release_answers_differently(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with MockGitea() as fresh:
        command = ["replay", str(recorded), "--server", fresh.control_url, "--no-enqueue"]
        assert cli.main(command) == 1
        shown = capsys.readouterr().out
    assert "FetchTask tasks: recorded 1, replayed 0" in shown
    assert "was not handed out in the replay" in shown


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--instance", "http://127.0.0.1:9"], "--token: missing"),
        (["--instance", "http://127.0.0.1:9", "--token", "x"], "no answer from http://127.0.0.1:9"),
    ],
)
def test_replay_that_cannot_be_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], text: str
) -> None:
    with MockGitea() as server, server.new_runner("r1").play() as played:
        played.fetch()
        server.journal.export_jsonl(tmp_path / "session.jsonl")
    assert cli.main(["replay", str(tmp_path / "session.jsonl"), *arguments]) == 1
    assert text in capsys.readouterr().err
