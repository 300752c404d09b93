import json

import pytest

from calls import UUID, Recording
from mockgitea.core.audit import audit
from mockgitea.verify.session import KnownRunner, Session, SessionError


def recorded() -> Session:
    recording = Recording()
    recording.fetch(7)
    recording.log(7, 0, 2)
    return Session(
        views=recording.views,
        runners={UUID: KnownRunner("r1", ("linux",), is_ephemeral=True)},
        evicted=3,
        profile="gitea-1.27",
        seed=9,
    )


def test_session_survives_its_file() -> None:
    session = recorded()
    assert Session.from_lines(session.lines()) == session


def test_lines_are_one_json_object_each_facts_first() -> None:
    head, *entries = [json.loads(line) for line in recorded().lines()]
    assert (head["mockgitea_journal"], head["profile"], head["evicted_total"]) == (1, "gitea-1.27", 3)
    assert [entry["number"] for entry in entries] == [1, 2]


def test_records_have_names_of_known_and_of_introduced_runners() -> None:
    recording = Recording()
    recording.fetch()
    recording.uuid = "other"
    recording.add("Declare", {}, {"runner": {"uuid": "other", "name": "gone"}})
    recording.fetch()
    session = Session(views=recording.views, runners={UUID: KnownRunner("r1")})
    assert [record.runner for record in session.records()] == ["r1", "", "gone"]


def test_facts_know_ephemeral_runners_and_evictions() -> None:
    facts = recorded().facts(capacity={"r1": 1})
    assert (facts.evicted, facts.ephemeral, facts.capacity) == (3, frozenset({UUID}), {"r1": 1})
    assert audit(recorded().records(), facts).is_clean


GOOD_HEAD = '{"mockgitea_journal":1}'


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ([], "the file is empty"),
        (["\n", "  \n"], "the file is empty"),
        (["nonsense"], "line 1: no JSON"),
        (["[1]"], "line 1: no JSON object"),
        (["{}"], "line 1: mockgitea_journal is missing"),
        (['{"mockgitea_journal":2}'], "line 1: mockgitea_journal is 2, this mockgitea reads 1"),
        (['{"mockgitea_journal":1,"runners":[{}]}'], "line 1: runners"),
        (['{"mockgitea_journal":1,"seed":"x"}'], "line 1: evicted_total and seed"),
        ([GOOD_HEAD, '{"number":1}'], "line 2: method: missing"),
        ([GOOD_HEAD, "", '{"number":"x","method":"page"}'], "line 3: entry x"),
        (["[" * 100_000], "line 1: no JSON"),
    ],
)
def test_file_that_is_no_session_is_refused_with_its_line(lines: list[str], text: str) -> None:
    with pytest.raises(SessionError, match=text):
        Session.from_lines(lines)


def test_line_beyond_the_limit_is_refused() -> None:
    with pytest.raises(SessionError, match="line 2: longer than"):
        Session.from_lines([GOOD_HEAD, " " + "x" * (16 * 1024 * 1024)])
