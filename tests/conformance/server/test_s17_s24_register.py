"""Register and Declare, S17 to S24."""

import re
import uuid

from actionswire.gen.runner.v1 import runner_pb2 as pb
from profiles import DECLARING, NEW, every_profile_but, holds_for
from serverproc import Identity, Mock

WORKFLOW = "on: push\njobs:\n  a:\n    runs-on: {label}\n    steps:\n      - run: 'true'\n"
ECHOES_EPHEMERAL = ("gitea-1.25", "gitea-1.27", "gitea-next", "forgejo-15")


def register(mock: Mock, token: str, name: str = "r1", **fields: object) -> pb.Runner:
    request = pb.RegisterRequest(name=name, token=token, version="v3.3.0", **{"labels": ["linux"], **fields})
    return mock.call("Register", request, pb.RegisterResponse).runner


@holds_for()
def test_s17_register_answers_the_new_runner(mock: Mock) -> None:
    runner = register(mock, mock.registration_token(), labels=["linux", "big"])
    assert runner.id > 0
    assert uuid.UUID(runner.uuid).version == 4
    assert re.fullmatch(r"[0-9a-f]{40}", runner.token)
    assert (runner.name, runner.version, list(runner.labels)) == ("r1", "v3.3.0", ["linux", "big"])
    assert runner.status == pb.RUNNER_STATUS_UNSPECIFIED
    mock.fetch(Identity(runner.id, runner.uuid, runner.token))


@holds_for()
def test_s18_same_token_and_name_make_another_runner(mock: Mock) -> None:
    token = mock.registration_token()
    first, second = register(mock, token), register(mock, token)
    assert first.id != second.id
    assert first.uuid != second.uuid


@holds_for()
def test_s19_missing_name_or_token_is_refused(mock: Mock, refused) -> None:  # type: ignore[no-untyped-def]
    token = mock.registration_token()
    for request in (pb.RegisterRequest(name="", token=token), pb.RegisterRequest(name="r1"), pb.RegisterRequest()):
        refused(mock.rpc("Register", request), "invalid_argument", "missing runner token, name", plain=True)


@holds_for()
def test_s20_unknown_token_is_refused(mock: Mock, refused) -> None:  # type: ignore[no-untyped-def]
    reply = mock.rpc("Register", pb.RegisterRequest(name="r1", token="x" * 40))
    refused(reply, "invalid_argument", "runner registration token not found", plain=True)


@holds_for()
def test_s21_token_of_a_reset_scope_is_refused(mock: Mock, refused) -> None:  # type: ignore[no-untyped-def]
    old = mock.registration_token()
    assert mock.registration_token() == old, "asking again must return the active token"
    new = mock.registration_token(reset=True)
    assert new != old
    text = "runner registration token has been invalidated, please use the latest one"
    refused(mock.rpc("Register", pb.RegisterRequest(name="r1", token=old)), "invalid_argument", text, plain=True)
    register(mock, new)


@holds_for("gitea-1.27", "forgejo-15")
def test_s21_reset_touches_its_own_scope_only(mock: Mock) -> None:
    mock.repository("alice/one")
    of_repository = mock.registration_token(repository="alice/one")
    mock.registration_token(reset=True)
    register(mock, of_repository)


@holds_for()
def test_s22_ephemeral_is_echoed_by_newer_servers(mock: Mock, profile: str) -> None:
    runner = register(mock, mock.registration_token(), ephemeral=True)
    assert runner.ephemeral is (profile in ECHOES_EPHEMERAL)


@holds_for(*DECLARING)
def test_s23_declare_replaces_labels_and_version(mock: Mock) -> None:
    runner = mock.runner(["old"])
    for labels in (["a", "b"], ["b"]):
        request = pb.DeclareRequest(version="v9", labels=labels)
        answer = mock.call("Declare", request, pb.DeclareResponse, runner).runner
        assert (answer.id, answer.uuid, list(answer.labels), answer.version) == (runner.id, runner.uuid, labels, "v9")
        assert answer.token == ""
    assert mock.control("GET", f"/runners/{runner.id}")["labels"] == ["b"]
    mock.enqueue(WORKFLOW.format(label="a"))
    assert not mock.fetch(runner).HasField("task")
    mock.enqueue(WORKFLOW.format(label="b"))
    assert mock.fetch(runner).HasField("task")


@holds_for(*NEW)
def test_s24_declare_sets_and_clears_cancelling(mock: Mock) -> None:
    runner = mock.runner()
    for capabilities in (["cancelling"], []):
        request = pb.DeclareRequest(version="v3", labels=["linux"], capabilities=capabilities)
        reply = mock.rpc("Declare", request, runner)
        assert reply.status == 200
        assert reply.header("x-gitea-actions-capabilities") == "job-summary"
        assert mock.control("GET", f"/runners/{runner.id}")["has_cancelling"] is bool(capabilities)


@every_profile_but("gitea-1.20", *NEW)
def test_s24_older_declare_has_no_capabilities_header(mock: Mock) -> None:
    request = pb.DeclareRequest(version="v3", labels=["linux"], capabilities=["cancelling"])
    assert mock.rpc("Declare", request, mock.runner()).header("x-gitea-actions-capabilities") is None


@holds_for("gitea-1.21")
def test_register_on_old_server_takes_agent_labels_when_labels_are_empty(mock: Mock) -> None:
    runner = register(mock, mock.registration_token(), labels=[], agent_labels=["from-agent"])
    assert mock.control("GET", f"/runners/{runner.id}")["labels"] == ["from-agent"]


@holds_for("gitea-1.27", "forgejo-15")
def test_register_on_new_server_ignores_agent_labels(mock: Mock) -> None:
    runner = register(mock, mock.registration_token(), labels=[], agent_labels=["from-agent"])
    assert mock.control("GET", f"/runners/{runner.id}")["labels"] == []


@holds_for("gitea-1.27", "forgejo-15")
def test_register_cuts_long_names(mock: Mock) -> None:
    runner = register(mock, mock.registration_token(), name="n" * 300)
    assert len(runner.name.encode()) <= 257
    assert runner.name.startswith("n" * 250)
