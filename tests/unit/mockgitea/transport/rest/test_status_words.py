import pytest

from actionswire.result import FINAL, Status
from mockgitea.transport.rest.status_words import status_and_conclusion, status_named, statuses_of_filter


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (Status.WAITING, ("queued", "")),
        (Status.BLOCKED, ("waiting", "")),
        (Status.RUNNING, ("in_progress", "")),
        (Status.CANCELLING, ("in_progress", "")),
        (Status.SUCCESS, ("completed", "success")),
        (Status.FAILURE, ("completed", "failure")),
        (Status.CANCELLED, ("completed", "cancelled")),
        (Status.SKIPPED, ("completed", "skipped")),
    ],
)
def test_status_of_each_value_has_its_two_words(status: Status, words: tuple[str, str]) -> None:
    assert status_and_conclusion(int(status)) == words


@pytest.mark.parametrize(
    ("word", "statuses"),
    [
        ("queued", {Status.WAITING}),
        ("waiting", {Status.BLOCKED}),
        ("pending", {Status.BLOCKED}),
        ("requested", {Status.BLOCKED}),
        ("action_required", {Status.BLOCKED}),
        ("in_progress", {Status.RUNNING}),
        ("completed", FINAL),
        ("success", {Status.SUCCESS}),
        ("failure", {Status.FAILURE}),
        ("skipped", {Status.SKIPPED}),
        ("neutral", {Status.SKIPPED}),
        ("cancelled", {Status.CANCELLED}),
        ("timed_out", {Status.CANCELLED}),
    ],
)
def test_status_filter_finds_what_gitea_finds(word: str, statuses: set[Status]) -> None:
    assert statuses_of_filter(word) == statuses


def test_status_filter_of_an_unknown_word_is_none() -> None:
    assert statuses_of_filter("running") is None


@pytest.mark.parametrize(("word", "status"), [("running", Status.RUNNING), ("unknown", Status.UNKNOWN)])
def test_forgejo_filter_takes_plain_names(word: str, status: Status) -> None:
    assert status_named(word) is status


@pytest.mark.parametrize("word", ["queued", "RUNNING", "cancelling", ""])
def test_forgejo_filter_refuses_other_words(word: str) -> None:
    assert status_named(word) is None
