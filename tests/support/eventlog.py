"""What a program logs while a block runs, and structlog afterwards as it was before."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog
from structlog.testing import capture_logs


@contextmanager
def logged() -> Iterator[list[Any]]:
    """Collect the events of a block, each a mapping with ``event`` and ``log_level``."""
    was_configured = structlog.is_configured()
    try:
        with capture_logs() as entries:
            yield entries
    finally:
        if not was_configured:
            # Else a server of a later test would take the process for one that has chosen where logs go.
            structlog.reset_defaults()
