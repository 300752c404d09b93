"""Durations as the pages of Gitea and Forgejo write them: whole seconds, `3s`, `1m2s`, `1h0m5s`.

Source: docs/protocol.md, "Page".
"""

from typing import Final

from actionswire.result import Status

_SECOND_US: Final = 1_000_000


def duration_text(started_us: int, stopped_us: int, status: Status, now_us: int) -> str:
    """Return how long something ran, or has been running at ``now_us`` if its status is not final.

    Both ends count in whole seconds, as the real servers store them; `0s` when it has not started.

    Source: docs/protocol.md, "Page".
    """
    if not started_us:
        return "0s"
    end_us = stopped_us if status.is_final else now_us
    return seconds_text(end_us // _SECOND_US - started_us // _SECOND_US)


def seconds_text(seconds: int) -> str:
    """Return a duration of this many seconds as text; a negative one counts as zero."""
    minutes, rest = divmod(max(0, seconds), 60)
    if not minutes:
        return f"{rest}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes}m{rest}s" if hours else f"{minutes}m{rest}s"
