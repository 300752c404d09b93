"""How long the fuzzers run, and the server they share within one file.

Without FUZZ_EXAMPLES every test is short and its examples are the same each time, which suits `make test`; with it
(`make fuzz`) each test draws so many fresh ones.
"""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings

from fuzzserver import FuzzServer, fuzz_server

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "0"))
SHORT_EXAMPLES = 40

settings.register_profile(
    "fuzz",
    deadline=None,  # a busy machine is no bug; hangs are caught by the client's time-out
    max_examples=EXAMPLES or SHORT_EXAMPLES,
    derandomize=not EXAMPLES,
    database=None,
    print_blob=True,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("fuzz")


@pytest.fixture(scope="module")
def server() -> Iterator[FuzzServer]:
    """One server for a file."""
    with fuzz_server() as started:
        yield started
        started.check()
