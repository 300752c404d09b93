from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import httpx
import pytest

from fakecontrol import FakeControl


@pytest.fixture
def control() -> FakeControl:
    return FakeControl()


@pytest.fixture
def run_command(control: FakeControl) -> Callable[..., int]:
    """Return a function that parses and runs a command line against the fake."""

    def run(*arguments: str, environ: dict[str, str] | None = None) -> int:
        module = import_module(f"mockgitea.commands.{arguments[0].replace('-', '_')}")
        parser = ArgumentParser(prog="mockgitea")
        module.add_parser(parser.add_subparsers(dest="command"))
        options = parser.parse_args(arguments)
        options.environ = environ or {}
        options.transport = httpx.MockTransport(control)
        return int(module.run(options))

    return run


@pytest.fixture
def makes_one_call(
    control: FakeControl, run_command: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> Callable[..., None]:
    """Return an assertion: a command line makes this one call, succeeds and shows this of the answer."""

    def check(arguments: Sequence[str], call: tuple[str, str], body: Any, *, answer: Any, shown: str) -> None:
        control.answer(*call, answer)
        assert run_command(*arguments) == 0
        assert control.calls == [(call[0], f"/control/v1{call[1]}", body)]
        assert shown in capsys.readouterr().out

    return check
