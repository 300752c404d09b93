"""Bring times that peers send into the range that the server can keep and show.

Source: docs/protocol.md, "UpdateTask".
"""

from typing import Final

SECOND_US: Final = 1_000_000
EARLIEST_US: Final = -62_135_596_800 * SECOND_US
"""0001-01-01, the first day that dates can be written for."""
LATEST_US: Final = 253_402_300_799 * SECOND_US
"""9999-12-31, the last one."""


def whole_seconds(us: int) -> int:
    """Return ``us`` cut down to whole seconds and held between the years 1 and 9999."""
    return min(max(us // SECOND_US * SECOND_US, EARLIEST_US), LATEST_US)
