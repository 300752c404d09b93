import time

import pytest

from actionsrunner.engine.commands import CommandProcessor, parse_command
from actionsrunner.engine.options import Family


def processor(*, family: Family = "gitea", debug: bool = False, unsecure: bool = False) -> CommandProcessor:
    masks: list[str] = []
    made = CommandProcessor(family=family, debug=debug, allow_unsecure=unsecure, add_mask=masks.append)
    made.masks = masks  # type: ignore[attr-defined] # a place for the test to look at
    return made


@pytest.mark.parametrize(
    ("row", "name", "properties", "data"),
    [
        ("::notice::hi", "notice", {}, "hi"),
        ("::set-output name=x::a::b", "set-output", {"name": "x"}, "a::b"),
        ("::error file=a.go,line=3,col=4::boom", "error", {"file": "a.go", "line": "3", "col": "4"}, "boom"),
        ("::ERROR::boom", "error", {}, "boom"),
        ("::warning title=a%3Ab%2Cc%25::x%0Ay%25z", "warning", {"title": "a:b,c%"}, "x\ny%z"),
        ("::x a=b=c,d=e,f::g", "x", {"d": "e"}, "g"),
        ("::stop-commands::", "stop-commands", {}, ""),
        ("::add-mask::", "add-mask", {}, ""),
        ("::notice ::x", "notice", {}, "x"),
        ("::notice   line=1 ,  col=2::x", "notice", {"line": "1", "col": "2"}, "x"),
        ("##[set-output name=x;other=y]v", "set-output", {"name": "x", "other": "y"}, "v"),
        ("##[group]title", "group", {}, "title"),
        ("##[warning file=a%5Db]x", "warning", {"file": "a]b"}, "x"),
        ("::%250A::%250A", "%250a", {}, "%0A"),
    ],
)
def test_parse_command_reads_both_forms(row: str, name: str, properties: dict[str, str], data: str) -> None:
    command = parse_command(row)
    assert command is not None
    assert (command.name, dict(command.properties), command.data) == (name, properties, data)


@pytest.mark.parametrize(
    "row", ["", "plain", " ::notice::x", "::", "::notice", ":: notice::x", "##[x", "x ::notice::y"]
)
def test_parse_command_of_plain_text_is_none(row: str) -> None:
    assert parse_command(row) is None


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ("plain", "plain"),
        ("::set-output name=a::b", "::set-output name=a::b"),
        ("::unknown::x", "::unknown::x"),
        ("::add-mask::x", None),
        ("##[add-mask]x", None),
        ("::debug::x", None),
        ("::group::x", "::group::x"),
        ("::endgroup::", "::endgroup::"),
        ("::add-matcher::file.json", "::add-matcher::file.json"),
        ("::error::x", "::error::x"),
        ("::error file=main.go,line=12,col=5,title=T::a%0Ab", "::error::main.go:12:5: T: a%0Ab"),
        ("::warning FILE=main.go,column=5::m", "::warning::main.go:5: m"),
        ("::notice title=T::m", "::notice::T: m"),
        ("::notice endLine=3::m", "::notice::m"),
    ],
)
def test_process_decides_what_gitea_shows(row: str, shown: str | None) -> None:
    assert processor().process(row) == shown


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ("::group::x", "##[group]x"),
        ("::endgroup::", "##[endgroup]"),
        ("##[group]x", "##[group]x"),
        ("::error file=a::x", "::error file=a::x"),
    ],
)
def test_process_decides_what_forgejo_shows(row: str, shown: str) -> None:
    assert processor(family="forgejo").process(row) == shown


def test_process_with_debug_keeps_debug_rows() -> None:
    assert processor(debug=True).process("::debug::x") == "::debug::x"
    assert processor(debug=True, family="forgejo").process("::debug::x") == "x"


def test_process_add_mask_unescapes_the_value() -> None:
    made = processor()
    made.process("::add-mask::one%0Atwo")
    assert made.masks == ["one\ntwo"]  # type: ignore[attr-defined] # set by processor()


def test_process_collects_outputs_and_state() -> None:
    made = processor()
    for row in ("::set-output name=a::1", "::set-output name=a::2", "::save-state name=s::3", "::set-output::no name"):
        made.process(row)
    assert made.effects.outputs == {"a": "2"}
    assert made.effects.state == {"s": "3"}
    assert made.effects.errors == ["the command `set-output` needs a property `name`"]


def test_process_set_env_and_add_path_need_the_switch() -> None:
    refused, allowed = processor(), processor(unsecure=True)
    for row in ("::set-env name=A::1", "::add-path::/x"):
        refused.process(row)
        allowed.process(row)
    assert (refused.effects.env, refused.effects.paths) == ({}, [])
    assert [error.split("`")[1] for error in refused.effects.errors] == ["set-env", "add-path"]
    assert (allowed.effects.env, allowed.effects.paths, allowed.effects.errors) == ({"A": "1"}, ["/x"], [])


@pytest.mark.parametrize("token", ["pause", "set-output", "a token"])
def test_process_stop_commands_lets_everything_through_until_the_token(token: str) -> None:
    made = processor()
    assert made.process(f"::stop-commands::{token}") is None
    for row in ("::add-mask::x", "::debug::x", "::set-output name=a::1", "::stop-commands::other", "::other::"):
        assert made.process(row) == row
    assert made.process(f"::{token}::") is None
    assert made.process("::add-mask::x") is None
    assert made.effects.outputs == {}
    assert made.masks == ["x"]  # type: ignore[attr-defined] # set by processor()


def test_process_stop_commands_without_a_token_is_plain_text() -> None:
    made = processor()
    assert made.process("::stop-commands::") == "::stop-commands::"
    assert made.process("::add-mask::x") is None


@pytest.mark.parametrize("start", ["::a", "##[a", "::a:", "::a b=", "##[a b"])
def test_parse_command_of_a_huge_hostile_row_is_fast(start: str) -> None:
    row = start + " " * 1_000_000
    before = time.monotonic()
    assert parse_command(row) is None
    assert time.monotonic() - before < 1
