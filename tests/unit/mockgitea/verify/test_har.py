import copy
from typing import Any

import pytest

from calls import Recording
from mockgitea.verify.har import check_har, har
from mockgitea.verify.session import Session


def archive() -> dict[str, Any]:
    recording = Recording()
    recording.fetch(7)
    recording.add("page", None, None, verb="GET", path="/demo", status=404, outcome="not_found", content_type="")
    recording.add("FetchTask", None, None, outcome="open", duration_s=None, closed_after=0, status=0)
    return har(Session(views=recording.views, profile="gitea-1.27"), base_url="http://127.0.0.1:3000/", version="1")


def test_archive_has_the_structure_of_har() -> None:
    check_har(archive())


def test_entry_holds_url_time_and_readable_messages() -> None:
    fetch, page, held = archive()["log"]["entries"]
    assert fetch["startedDateTime"] == "2026-01-01T00:00:01.000000Z"
    assert fetch["request"]["url"] == "http://127.0.0.1:3000/api/actions/runner.v1.RunnerService/FetchTask"
    assert fetch["request"]["postData"]["text"] == '{"tasksVersion":"0"}'
    assert (fetch["time"], fetch["timings"]["wait"], fetch["_outcome"]) == (10.0, 10.0, "task")
    assert (page["response"]["status"], page["response"]["statusText"]) == (404, "Not Found")
    assert "postData" not in page["request"]
    assert (held["response"]["status"], held["time"]) == (0, 0.0)


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        (["log", "version"], "1.1", "log.version: must be 1.2"),
        (["log", "entries", 0, "startedDateTime"], "yesterday", r"log.entries\[0\].startedDateTime"),
        (["log", "entries", 0, "request", "method"], 7, "request.method: 7 has the wrong type"),
        (["log", "entries", 0, "request", "url"], "/relative", "request.url: must be absolute"),
        (["log", "entries", 1, "response", "content"], {}, "response.content.size: missing"),
        (["log", "entries", 1, "timings"], {"send": 0}, "timings.wait: missing"),
    ],
)
def test_check_names_the_place_that_is_wrong(path: list[Any], value: Any, text: str) -> None:
    broken = copy.deepcopy(archive())
    place: Any = broken
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(ValueError, match=text):
        check_har(broken)


def test_check_of_something_else_names_what_is_missing() -> None:
    with pytest.raises(ValueError, match="log: missing"):
        check_har([])
