"""`make demo-faults` as a program: what its exit code says when the stages do not go as narrated."""

import io

import demo_faults
import httpx
import pytest
from rich.console import Console
from verdicts import Story


def test_console_not_a_terminal_has_no_colours(capsys: pytest.CaptureFixture[str]) -> None:
    demo_faults.console_for_output().print("[red]x[/red]")
    assert capsys.readouterr().out == "x\n"


@pytest.mark.parametrize(("encoding", "bar"), [("utf-8", "█"), ("ascii", "#")])
def test_ink_fits_the_encoding_of_the_output(encoding: str, bar: str) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    assert demo_faults.ink_of(Console(file=out)).bar == bar


@pytest.mark.parametrize("trouble", [httpx.ConnectError("refused"), SystemExit("the server did not start")])
def test_run_trouble_on_the_way_is_named_and_exit_code_1(trouble: BaseException) -> None:
    out = io.StringIO()

    def tell(story: Story) -> None:
        story.check("a first thing", "it", is_met=True)
        raise trouble

    assert demo_faults.run(Story(Console(file=out, color_system=None)), tell) == 1
    assert f"not as narrated: expected every process starts and answers; seen: {type(trouble).__name__}" in (
        out.getvalue()
    )


def test_run_a_failing_verdict_is_exit_code_1() -> None:
    story = Story(Console(file=io.StringIO()))
    assert demo_faults.run(story, lambda told: told.check("a", "b", is_met=False)) == 1


def test_run_interrupted_stops_with_the_shells_code() -> None:
    def tell(_story: Story) -> None:
        raise KeyboardInterrupt

    assert demo_faults.run(Story(Console(file=io.StringIO())), tell) == demo_faults.EXIT_INTERRUPTED
