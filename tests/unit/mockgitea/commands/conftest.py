from argparse import ArgumentParser
from collections.abc import Callable
from importlib import import_module

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
