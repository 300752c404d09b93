"""A browser for the page's tests; without one they are skipped, and the summary counts them."""

from collections.abc import Iterator

import pytest

from chromium import Chromium, find_chromium


@pytest.fixture(scope="session")
def shared_browser() -> Iterator[Chromium]:
    binary = find_chromium()
    if binary is None:
        pytest.skip("no Chromium on PATH; install Debian's package `chromium`")
    with Chromium(binary) as browser:
        yield browser


@pytest.fixture
def browser(shared_browser: Chromium) -> Chromium:
    """The browser at a usual size, with nothing to complain about yet."""
    shared_browser.resize(1200)
    shared_browser.complaints.clear()
    return shared_browser
