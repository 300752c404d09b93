"""One server per profile and test worker, healthy and empty before each case."""

from collections.abc import Callable, Iterator

import pytest

from faultcase import SEED, FaultCase
from serverproc import ServerProcess


@pytest.fixture(scope="session")
def case_of() -> Iterator[Callable[..., FaultCase]]:
    """Start servers on demand, one per profile."""
    started: dict[tuple[str, ...], FaultCase] = {}

    def case(profile: str, *extra: str) -> FaultCase:
        key = (profile, *extra)
        if key not in started:
            arguments = ["--port", "0", "--control-port", "0", "--profile", profile, "--clock", "offset"]
            started[key] = FaultCase(ServerProcess(*arguments, "--seed", SEED, *extra), profile)
        started[key].control("POST", "/reset")
        return started[key]

    print(f"seed {SEED}")
    yield case
    for each in started.values():
        each.server.stop()


@pytest.fixture
def mock(case_of: Callable[..., FaultCase]) -> FaultCase:
    """A server of today's Gitea."""
    return case_of("gitea-1.27")
