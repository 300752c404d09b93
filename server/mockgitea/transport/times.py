"""Stored microseconds as the texts that JSON answers show. Knows no table and no clock."""

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_US: Final = (datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
"""Runners may report any time; beyond the year 9999 no text exists, so such times are shown as its last second."""


def rfc3339(at_us: int) -> str:
    """Return a time with whole seconds in UTC, as Gitea's REST answers show it; 0 is the Unix epoch."""
    return _moment(at_us).replace(microsecond=0).isoformat().replace("+00:00", "Z")


def precise(at_us: int) -> str | None:
    """Return a time with microseconds in UTC, or None for 0, "not yet"."""
    return _moment(at_us).isoformat(timespec="microseconds").replace("+00:00", "Z") if at_us else None


def _moment(at_us: int) -> datetime:
    return _EPOCH + timedelta(microseconds=min(max(at_us, 0), _LAST_US))
