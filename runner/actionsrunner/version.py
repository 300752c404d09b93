"""The version of this distribution, read from its metadata."""

import functools
from importlib.metadata import PackageNotFoundError, version


@functools.cache
def runner_version() -> str:
    """Return the version, e.g. ``0.1.0``; ``0.0.0`` for a source tree that is not installed."""
    try:
        return version("mockgitea")
    except PackageNotFoundError:
        return "0.0.0"
