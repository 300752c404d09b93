"""docs/protocol.md, "REST", and the tables in the code cannot drift apart."""

import re
from pathlib import Path

from actionswire.result import Status
from mockgitea.core.profiles import PROFILES
from mockgitea.transport.rest.status_words import status_and_conclusion, statuses_of_filter
from mockgitea.transport.rest.table import routes

_TEXT = (Path(__file__).parents[5] / "docs" / "protocol.md").read_text()
SECTION = _TEXT.split("## REST\n", 1)[1].split("\n## ", 1)[0]


def _last_words() -> set[str]:
    """Return the last fixed part of every path that is documented, such as `rerun-failed-jobs`."""
    return {word for path in re.findall(r"`([^`]*/[^`]*)`", SECTION) for word in re.findall(r"[a-z-]{3,}", path)}


def test_rest_document_names_every_route_of_every_profile() -> None:
    documented = _last_words()
    for profile in PROFILES.values():
        for route in routes(profile):
            fixed = [part for part in route.path.split("/") if part and not part.startswith("{")]
            assert fixed[-1] in documented, f"{route.verb} {route.path}"


def test_rest_document_has_the_status_table_of_the_code() -> None:
    rows = re.findall(r"^\| ([a-z]+) \| `([a-z_]+)` \| (?:`([a-z]+)`)? ?\| (.*) \|$", SECTION, flags=re.MULTILINE)
    del rows[0]  # the heading
    assert len(rows) == len(Status) - 1
    for word, status, conclusion, filters in rows:
        held = Status[word.upper()]
        assert status_and_conclusion(held) == (status, conclusion)
        for name in re.findall(r"`([a-z_]+)`", filters):
            found = statuses_of_filter(name)
            assert found is not None
            assert held in found
