import base64
from collections.abc import Mapping
from typing import Any

import pytest

from calls import UUID, Recording
from mockgitea.verify.replay import Answer, RecordedTask, Replay, ReplayFailed
from mockgitea.verify.session import KnownRunner, Session

TASK = {
    "id": "7",
    "workflowPayload": base64.b64encode(b"on: push\n").decode(),
    "context": {"repository": "a/b", "event_name": "push", "ref": "refs/heads/main"},
}


class FakePeer:
    """Answers from a table by method, newest first, and notes what came."""

    def __init__(self, **answers: Answer) -> None:
        self.answers = {
            "Register": Answer(200, {"runner": {"uuid": "new", "token": "t", "name": "r1", "labels": ["linux"]}}),
            "FetchTask": Answer(200, {"tasksVersion": "40", "task": {"id": "900"}}),
            "UpdateLog": Answer(200, {"ackIndex": "2"}),
            "UpdateTask": Answer(200, {"state": {"id": "900", "result": "RESULT_SUCCESS"}}),
            "Declare": Answer(200, {"runner": {"uuid": "new", "name": "r1", "labels": ["linux"]}}),
            **answers,
        }
        self.calls: list[tuple[str, Mapping[str, Any], Mapping[str, str]]] = []

    def call(self, method: str, message: Mapping[str, Any], *, content_type: str, headers: Mapping[str, str]) -> Answer:
        assert content_type in ("application/proto", "application/json")
        self.calls.append((method, message, headers))
        return self.answers[method]


def recorded() -> Recording:
    recording = Recording()
    runner = {"runner": {"uuid": UUID, "token": "***", "name": "r1", "labels": ["linux"]}}
    recording.add("Register", {"name": "r1", "token": "***", "labels": ["linux"]}, runner, runner_uuid="")
    recording.fetch(7)
    recording.views[-1]["response"]["task"] = TASK
    recording.log(7, 0, 2)
    recording.state(7, "success")
    recording.fetch(version=1)
    return recording


def replay(recording: Recording, peer: FakePeer, **options: Any) -> Any:
    session = Session(views=recording.views, runners={UUID: KnownRunner("r1", ("linux",))})
    return Replay(session, peer, registration_token="token", **options).run()


def test_ids_tokens_and_versions_are_those_of_the_new_server() -> None:
    peer = FakePeer()
    report = replay(recorded(), peer)
    methods = [method for method, _, _ in peer.calls]
    assert methods == ["Register", "FetchTask", "UpdateLog", "UpdateTask", "FetchTask"]
    register, first, log, state, second = [message for _, message, _ in peer.calls]
    assert register["token"] == "token"
    assert first["tasksVersion"] == "0"
    assert log["taskId"] == "900"
    assert state["state"]["id"] == "900"
    assert second["tasksVersion"] == "40"  # the recording sent the version it had been answered
    assert all(headers == {"x-runner-uuid": "new", "x-runner-token": "t"} for _, _, headers in peer.calls[1:])
    assert [str(difference) for difference in report.differences] == ["#5 FetchTask tasks: recorded 0, replayed 1"]
    assert (report.calls, report.compared, report.skipped) == (5, 5, [])


def test_task_is_provided_before_the_fetch_that_got_it() -> None:
    peer = FakePeer()
    provided: list[tuple[int, RecordedTask]] = []
    replay(recorded(), peer, provide=lambda task: provided.append((len(peer.calls), task)))
    assert provided == [(1, RecordedTask("on: push\n", "a/b", "push", "refs/heads/main"))]


def test_runner_whose_register_was_not_recorded_registers_once() -> None:
    recording = Recording()
    recording.add("Declare", {"labels": ["linux"]}, {"runner": {"uuid": UUID, "name": "r1", "labels": ["linux"]}})
    recording.fetch()
    peer = FakePeer()
    replay(recording, peer)
    assert [method for method, _, _ in peer.calls] == ["Register", "Declare", "FetchTask"]
    assert peer.calls[0][1]["labels"] == ["linux"]


def test_answers_are_compared_field_by_field() -> None:
    peer = FakePeer(
        UpdateLog=Answer(200, {"ackIndex": "1"}), UpdateTask=Answer(500, {}, "internal"), FetchTask=Answer(200, {})
    )
    report = replay(recorded(), peer)
    assert [str(difference) for difference in report.differences] == ["#2 FetchTask tasks: recorded 1, replayed 0"]
    assert report.skipped == [
        "#3 UpdateLog: task 7 was not handed out in the replay",
        "#4 UpdateTask: task 7 was not handed out in the replay",
    ]
    peer.answers["FetchTask"] = FakePeer().answers["FetchTask"]
    fields = [difference.field for difference in replay(recorded(), peer).differences]
    assert fields == ["ack_index", "status", "code", "tasks"]


@pytest.mark.parametrize("nobody_saw", [{"fault": "lost"}, {"outcome": "abandoned"}])
def test_answer_that_nobody_saw_or_a_fault_made_is_not_compared(nobody_saw: dict[str, str]) -> None:
    recording = recorded()
    recording.views[-1].update(nobody_saw)
    report = replay(recording, FakePeer())
    assert (report.differences, report.compared) == ([], 4)


def test_only_the_wanted_runner_is_replayed() -> None:
    peer = FakePeer()
    assert replay(recorded(), peer, runner="r1").calls == 5
    assert replay(recorded(), peer, runner="r2").calls == 0


def test_calls_that_cannot_be_sent_are_told() -> None:
    recording = Recording()
    recording.add("page", None, None)
    recording.add("UpdateLog", None, None, is_cut=True)
    report = replay(recording, FakePeer())
    assert report.skipped == ["#2 UpdateLog: its body was not recorded"]


def test_stranger_is_a_stranger_again() -> None:
    recording = Recording()
    recording.fetch(runner_uuid="", outcome="unauthenticated", status=500, code="unknown")
    peer = FakePeer(FetchTask=Answer(500, {}, "unknown"))
    assert replay(recording, peer).differences == []
    assert peer.calls[0][2]["x-runner-token"] == "not-a-token"


def test_refused_registration_ends_the_replay() -> None:
    recording = Recording()
    recording.fetch()
    with pytest.raises(ReplayFailed, match="refused to register 'r1': invalid_argument"):
        replay(recording, FakePeer(Register=Answer(400, {}, "invalid_argument")))
