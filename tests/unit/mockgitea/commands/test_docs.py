"""docs/cli.md and the commands cannot drift apart."""

import argparse
import re
from importlib import import_module
from pathlib import Path

from mockgitea.cli import COMMANDS

TEXT = (Path(__file__).parents[4] / "docs" / "cli.md").read_text()


def _parser(command: str) -> argparse.ArgumentParser:
    subparsers = argparse.ArgumentParser().add_subparsers()
    import_module(f"mockgitea.commands.{command.replace('-', '_')}").add_parser(subparsers)
    parser: argparse.ArgumentParser = subparsers.choices[command]
    return parser


def _full_names() -> set[str]:
    names = set()
    for command in COMMANDS:
        nested = [action for action in _parser(command)._actions if isinstance(action, argparse._SubParsersAction)]
        parts = [name for action in nested for name in action.choices]
        names |= {f"{command} {part}" for part in parts} if parts else {command}
    return names


def test_cli_document_lists_exactly_the_commands() -> None:
    documented = re.findall(r"^\| `mockgitea ([^`]+)` \|", TEXT, flags=re.MULTILINE)
    assert sorted(documented) == sorted(_full_names())


def test_cli_document_shows_every_option_of_enqueue() -> None:
    options = {option for action in _parser("enqueue")._actions for option in action.option_strings}
    shown = set(re.findall(r"--[a-z-]+", TEXT))
    assert options - {"-h", "--help", "--server"} <= shown


def test_every_command_explains_itself() -> None:
    for command in COMMANDS:
        parser = _parser(command)
        assert parser.description, command
        for action in parser._actions:
            assert action.help or isinstance(action, argparse._SubParsersAction), f"{command} {action.dest}"
