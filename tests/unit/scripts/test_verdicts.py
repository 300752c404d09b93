"""The story of `make demo-faults`: its exit code is the verdicts' own, and what failed is named."""

import io

from fault_stages import is_explained
from rich.console import Console
from verdicts import Story


def story_with(*verdicts: bool) -> tuple[Story, io.StringIO]:
    out = io.StringIO()
    story = Story(Console(file=out, color_system=None, width=40))
    for number, is_met in enumerate(verdicts):
        story.check(f"thing {number}", f"sight {number}", is_met=is_met)
    return story, out


def test_end_all_met_is_exit_code_0() -> None:
    story, out = story_with(True, True)
    assert story.end() == 0
    assert "all 2 as narrated" in out.getvalue()


def test_end_one_failed_is_exit_code_1_and_names_it() -> None:
    story, out = story_with(True, False, True)
    assert story.end() == 1
    text = out.getvalue()
    assert "not as narrated: expected thing 1; seen: sight 1" in text
    assert "all 3 as narrated" not in text
    assert text.count("not as narrated") == 1


def test_end_nothing_checked_is_exit_code_1() -> None:
    story, _ = story_with()
    assert story.end() == 1


def test_say_markup_in_a_line_is_plain_text() -> None:
    story, out = story_with()
    story.say("[red]as it came[/red]")
    assert "[red]as it came[/red]" in out.getvalue()


def test_is_explained_only_by_the_lost_task() -> None:
    assert is_explained({"task": 4}, 4)
    assert not is_explained({"task": 5}, 4)
    assert not is_explained({"task": None}, None)
