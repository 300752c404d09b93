"""Pytest plugin: fixtures with a running mock, a marker with its settings, and a report of what went over the wire.

Costs a test run nothing until a fixture is used: the server is imported then.
Source: docs/testing.md, "From pytest".
"""

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from mockgitea.testing import MockGitea

MARKER: Final = "mockgitea"
_FIXTURES: Final = ("mockgitea", "mockgitea_shared", "mockgitea_session")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers",
        "mockgitea(profile=..., clock=..., seed=..., **settings): settings of the server that the fixture `mockgitea` "
        "starts; any of docs/settings.md",
    )


@pytest.fixture
def mockgitea(request: pytest.FixtureRequest) -> "Iterator[MockGitea]":
    """A server of this test's own, in process, on free ports; the marker `mockgitea` gives its settings."""
    settings = _marked(request.node)
    with _class()(**settings) as server:
        yield server


@pytest.fixture
def mockgitea_url(mockgitea: "MockGitea") -> str:
    """The instance URL of `mockgitea`: what a runner is registered with."""
    return mockgitea.url


@pytest.fixture(scope="session")
def mockgitea_session() -> "Iterator[MockGitea]":
    """One server for the whole session (with xdist: for each worker), never reset; to build own fixtures on."""
    with _class()() as server:
        yield server


@pytest.fixture
def mockgitea_shared(request: pytest.FixtureRequest, mockgitea_session: "MockGitea") -> "MockGitea":
    """The session's server, made as new for this test: quicker than an own one, but always with default settings."""
    if request.node.get_closest_marker(MARKER) is not None:
        raise pytest.UsageError(
            f"{request.node.nodeid}: the marker {MARKER} gives settings, and mockgitea_shared has fixed ones; "
            "use the fixture mockgitea"
        )
    mockgitea_session.reset()
    return mockgitea_session


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: "pytest.CallInfo[None]"
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the newest calls and the audit to the report of a failed test."""
    report = yield
    if call.when == "call" and report.failed:
        for name in _FIXTURES:
            server = getattr(item, "funcargs", {}).get(name)
            if server is not None:
                report.sections += _sections(server)
                break
    return report


def _sections(server: "MockGitea") -> list[tuple[str, str]]:
    from mockgitea.testing import ServerClosed  # noqa: PLC0415 - a server exists, so this is imported already

    try:
        seen = f"{server.profile}, seed {server.seed}\n{server.journal.tail()}"
        return [("mockgitea journal", seen), ("mockgitea audit", str(server.audit()))]
    except ServerClosed:
        return [("mockgitea", "the server was closed by the test, so there is no journal to show")]


def _marked(node: pytest.Item) -> dict[str, Any]:
    """Return the settings of all markers on the test; the nearest wins."""
    settings: dict[str, Any] = {}
    for mark in reversed(list(node.iter_markers(MARKER))):
        if mark.args:
            raise pytest.UsageError(f"{node.nodeid}: the marker {MARKER} takes settings by name, not {mark.args!r}")
        settings |= mark.kwargs
    return settings


def _class() -> "type[MockGitea]":
    from mockgitea.testing import MockGitea  # noqa: PLC0415 - half a second that only users of a fixture pay

    return MockGitea
