"""How a watched run looks in a terminal: nothing hostile gets through, progress and colours are there."""

import io

import pytest
from rich.console import Console

from mockgitea.commands.watch_follow import Follower, NewRow, StepState
from mockgitea.commands.watch_rows import coloured_text, plain_text, read_row
from mockgitea.commands.watch_view import LiveView


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("plain", ("row", "plain")),
        ("::group::Title", ("group", "Title")),
        ("##[group]Title", ("group", "Title")),
        ("##[endgroup]", ("endgroup", "")),
        ("::endgroup::", ("endgroup", "")),
        ("##[error]bad", ("error", "bad")),
        ("::warning file=a,line=1::careful", ("warning", "careful")),
        ("::notice::hello", ("notice", "hello")),
        ("##[debug]x", ("debug", "x")),
        ("[command]/bin/true", ("command", "/bin/true")),
        ("##[command]/bin/true", ("command", "/bin/true")),
        ("::add-matcher::m.json", ("hidden", "")),
        ("##[add-matcher]m.json", ("hidden", "")),
        ("::remove-matcher owner=x::", ("hidden", "")),
        (" ::group::indented", ("row", " ::group::indented")),
    ],
)
def test_read_row_tells_log_commands_apart(message: str, expected: tuple[str, str]) -> None:
    assert read_row(message) == expected


@pytest.mark.parametrize(
    ("message", "plain", "coloured"),
    [
        ("\x1b[31mred\x1b[0m", "red", "\x1b[31mred\x1b[0m"),
        ("\x1b[2Jcleared", "cleared", "cleared"),
        ("\x1b]0;title\x07text", "text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link", "link"),
        ("bell\x07\x08\x00 end\x9b2J", "bell end2J", "bell end2J"),
        ("10%\r100%", "100%", "100%"),
        ("done\r", "done", "done"),
        ("tab\tkept", "tab\tkept", "tab\tkept"),
        ("\x1b", "", ""),
    ],
)
def test_rows_lose_everything_that_could_drive_the_terminal(message: str, plain: str, coloured: str) -> None:
    assert plain_text(message) == plain
    assert coloured_text(message) == coloured


def test_live_view_shows_rows_progress_and_final_states() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, color_system="standard")
    follower = Follower()
    run = {"title": "Fix \x1b[2Jit", "status": "failure", "done": True}
    jobs = [{"id": 1, "name": "build", "status": "failure", "duration": "3s"}]
    follower.accept_run({"state": {"run": {**run, "jobs": jobs}}})
    follower.jobs[0].steps = [StepState("Set up", "success", "1s"), StepState("Compile", "failure", "2s")]
    row = NewRow("build", "Compile", 1_700_000_000.5, "##[error]no \x1b[32mgreen\x1b[0m \x1b[2Jtrick")
    with LiveView(console, has_logs=True) as view:
        view.show([row], follower)
    text = out.getvalue()
    assert "Error:" in text
    assert "green" in text
    assert "\x1b[2J" not in text
    assert "Fix it" in text
    assert "2/2 steps" in text
    assert "Compile 2s" in text
