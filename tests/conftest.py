"""What every test may rely on, however the run was started."""

import signal

import pytest


@pytest.fixture(autouse=True, scope="session")
def _interrupts_are_not_ignored() -> None:
    """Give SIGINT its usual meaning, which a shell takes away from what it starts in the background.

    Steps inherit an ignored signal and could then not be interrupted; a runner process installs a handler of its own.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
