"""FetchTask and FetchSingleTask, S25 to S46."""

import re
from concurrent.futures import ThreadPoolExecutor

from google.protobuf.json_format import MessageToDict

from actionswire import workflow_yaml
from actionswire.gen.runner.v1 import runner_pb2 as pb
from eventually import eventually
from profiles import DECLARING, FORGEJO_15, NEW, every_profile_but, holds_for
from serverproc import BASE, PROTO, VERSION, Mock

ONE = "on: push\njobs:\n  a:\n    runs-on: linux\n    steps:\n      - run: 'true'\n"
EPHEMERAL = ("gitea-1.25", "gitea-1.27", "gitea-next", "forgejo-15")


def jobs(count: int, label: str = "linux") -> str:
    parts = [f"  j{number}:\n    runs-on: {label}\n    steps:\n      - run: 'true'\n" for number in range(count)]
    return "on: push\njobs:\n" + "".join(parts)


@holds_for(*DECLARING)
def test_s25_first_fetch_of_a_fresh_database_answers_a_version(mock: Mock) -> None:
    answer = mock.fetch(mock.runner())
    assert answer.tasks_version >= 1
    assert not answer.HasField("task")


@holds_for(*DECLARING)
def test_s26_known_version_looks_into_no_queue(mock: Mock) -> None:
    runner = mock.runner()
    mock.enqueue(ONE)
    version = mock.fetch(mock.runner(["other"])).tasks_version
    answer = mock.fetch(runner, version)
    assert (answer.tasks_version, answer.HasField("task")) == (version, False)


@holds_for(*DECLARING)
def test_s27_new_waiting_job_moves_the_version(mock: Mock) -> None:
    runner = mock.runner()
    version = mock.fetch(runner).tasks_version
    mock.enqueue(ONE)
    answer = mock.fetch(runner, version)
    assert answer.HasField("task")
    assert answer.tasks_version > version


@holds_for(*DECLARING)
def test_s28_other_repository_leaves_a_repository_runner_alone(mock: Mock) -> None:
    mock.repository("alice/one")
    mock.repository("alice/two")
    runner = mock.runner(scope={"repository": "alice/one"})
    version = mock.fetch(runner).tasks_version
    mock.enqueue(ONE, repository="alice/two")
    for sent in (version, 0):
        answer = mock.fetch(runner, sent)
        assert (answer.tasks_version, answer.HasField("task")) == (version, False)
    mock.enqueue(ONE, repository="alice/one")
    assert mock.fetch(runner, version).HasField("task")


@holds_for()
def test_s29_owner_runner_serves_every_repository_of_the_owner(mock: Mock) -> None:
    mock.repository("alice/one")
    mock.repository("alice/two")
    mock.repository("bob/one")
    runner = mock.runner(scope={"owner": "alice"})
    mock.enqueue(ONE, repository="bob/one")
    assert not mock.fetch(runner).HasField("task")
    for repository in ("alice/one", "alice/two"):
        mock.enqueue(ONE, repository=repository)
        assert mock.take(runner).context["repository"] == repository


@holds_for()
def test_s30_every_wanted_label_must_be_there(mock: Mock) -> None:
    mock.enqueue(ONE.replace("linux", "[a, b]"))
    assert not mock.fetch(mock.runner(["a"])).HasField("task")
    assert not mock.fetch(mock.runner(["A", "B"])).HasField("task"), "labels are case-sensitive"
    assert mock.fetch(mock.runner(["a", "b", "c"])).HasField("task")


@holds_for()
def test_s31_older_update_goes_first_then_lower_id(mock: Mock) -> None:
    runner = mock.runner()
    first = mock.enqueue(jobs(2))
    mock.control("POST", "/clock/advance", {"seconds": 5})
    # Another branch: older servers cancel unfinished runs of the same one.
    second = mock.enqueue(ONE, ref="refs/heads/other")
    order = [mock.take(runner).context["run_id"] for _ in range(3)]
    assert order == [str(first["run_id"])] * 2 + [str(second["run_id"])]


def race(mock: Mock, job_count: int) -> list[pb.FetchTaskResponse]:
    runners = [mock.runner(name=f"r{number}") for number in range(10)]
    mock.enqueue(jobs(job_count))
    body = pb.FetchTaskRequest(tasks_version=0).SerializeToString()
    connections = [mock.connect() for _ in runners]
    with ThreadPoolExecutor(len(runners)) as pool:
        replies = list(
            pool.map(
                lambda pair: pair[0].request(
                    "POST", f"{BASE}/runner.v1.RunnerService/FetchTask", [PROTO, VERSION, *pair[1].headers], body
                ),
                zip(connections, runners, strict=True),
            )
        )
    for connection in connections:
        connection.close()
    assert {reply.status for reply in replies} == {200}
    return [pb.FetchTaskResponse.FromString(reply.body) for reply in replies]


@holds_for()
def test_s32_one_job_goes_to_exactly_one_of_ten_runners(mock: Mock) -> None:
    answers = race(mock, 1)
    assert sum(answer.HasField("task") for answer in answers) == 1


@holds_for()
def test_s33_ten_jobs_are_never_given_twice(mock: Mock, profile: str) -> None:
    answers = race(mock, 10)
    ids = [answer.task.id for answer in answers if answer.HasField("task")]
    assert len(ids) == len(set(ids))
    if profile in NEW:
        assert len(ids) == 10
    else:
        assert ids


MATRIX = """
name: CI
on: push
env: {TOP: 'x'}
jobs:
  base:
    runs-on: linux
    outputs: {o: '${{ steps.s.outputs.o }}'}
    steps: [{id: s, run: 'true'}]
  build:
    needs: [base]
    if: ${{ always() }}
    runs-on: ${{ matrix.os }}
    strategy:
      matrix:
        os: [linux, windows]
        n: [1]
    outputs: {p: '${{ matrix.os }}'}
    steps:
      - run: echo ${{ matrix.n }} ${{ needs.base.outputs.o }}
"""


@holds_for()
def test_s34_payload_holds_one_job_one_combination_and_no_needs(mock: Mock) -> None:
    runner = mock.runner(["linux"])
    mock.enqueue(MATRIX)
    base = mock.take(runner)
    assert list(workflow_yaml.load(base.workflow_payload)["jobs"]) == ["base"]
    assert dict(base.needs) == {}
    mock.update(runner, base.id, pb.RESULT_SUCCESS, outputs={"o": "v"})
    task = eventually(lambda: mock.fetch(runner), lambda answer: answer.HasField("task")).task
    payload = workflow_yaml.load(task.workflow_payload)
    assert payload["name"] == "CI"
    assert payload["env"] == {"TOP": "x"}
    assert list(payload["jobs"]) == ["build"]
    job = payload["jobs"]["build"]
    assert "needs" not in job
    assert job["strategy"]["matrix"] == {"os": ["linux"], "n": [1]}
    assert job["runs-on"] in ("linux", ["linux"])
    assert job["name"] == "build (1, linux)"
    assert job["if"] == "${{ always() }}"
    assert job["outputs"] == {"p": "${{ matrix.os }}"}
    assert job["steps"] == [{"run": "echo ${{ matrix.n }} ${{ needs.base.outputs.o }}"}]
    assert {key: (need.result, dict(need.outputs)) for key, need in task.needs.items()} == {
        "base": (pb.RESULT_SUCCESS, {"o": "v"})
    }


EMPTY_FIELDS = (
    "graphql_url", "path", "env", "workspace", "event_path", "retention_days", "action", "action_path", "action_ref",
    "action_repository", "action_status", "base_ref", "head_ref",
)  # fmt: skip


@holds_for()
def test_s35_context_fields(mock: Mock, profile: str) -> None:
    runner = mock.runner()
    run = mock.enqueue(ONE, actor="alice", ref="refs/heads/main", sha="a" * 40)
    task = mock.take(runner)
    context = MessageToDict(task.context)
    base = mock.ready["runner_url"].rstrip("/")
    assert {key: context[key] for key in EMPTY_FIELDS} == dict.fromkeys(EMPTY_FIELDS, "")
    expected = {
        "actor": "alice", "server_url": f"{base}/", "api_url": f"{base}/api/v1", "event_name": "push",
        "ref": "refs/heads/main", "ref_name": "main", "ref_type": "branch", "ref_protected": False,
        "repository": "demo/demo", "repository_owner": "demo", "repositoryUrl": f"{base}/demo/demo",
        "run_id": str(run["run_id"]), "run_number": str(run["run_number"]), "run_attempt": "1",
        "secret_source": "Actions", "sha": "a" * 40, "workflow": "ci.yaml",
    }  # fmt: skip
    assert {key: context[key] for key in expected} == expected
    assert re.fullmatch(r"[0-9a-f]{40}", context["token"])
    assert task.secrets["GITHUB_TOKEN"] == task.secrets["GITEA_TOKEN"] == context["token"]
    assert ("FORGEJO_TOKEN" in task.secrets) is profile.startswith("forgejo")
    assert context["gitea_default_actions_url"]
    assert isinstance(context["event"], dict)
    if profile not in {"gitea-1.20", "gitea-1.21"}:
        assert context["job"] == "a"
        assert context["gitea_runtime_token"].count(".") == 2
    else:
        assert context["job"].isdigit()
    if profile in NEW:
        assert context["triggering_actor"] == "alice"
    else:
        assert not context.get("triggering_actor")


@holds_for()
def test_s36_fork_pull_request_gets_no_secrets(mock: Mock, profile: str) -> None:
    mock.control("PUT", "/secrets/DEPLOY_KEY", {"value": "hidden-value"}, repository="demo/demo")
    runner = mock.runner()
    mock.enqueue(ONE.replace("push", "pull_request"), event="pull_request", fork_pull_request=True)
    names = set(mock.take(runner).secrets)
    tokens = {"GITHUB_TOKEN", "GITEA_TOKEN"} | ({"FORGEJO_TOKEN"} if profile.startswith("forgejo") else set())
    assert names == tokens
    mock.enqueue(ONE)
    assert mock.take(runner).secrets["DEPLOY_KEY"] == "hidden-value"


@holds_for()
def test_s37_repository_value_beats_the_owner(mock: Mock) -> None:
    for kind in ("secrets", "variables"):
        mock.control("PUT", f"/{kind}/SHARED", {"value": "of owner"}, owner="demo")
        mock.control("PUT", f"/{kind}/SHARED", {"value": "of repository"}, repository="demo/demo")
        mock.control("PUT", f"/{kind}/ONLY_OWNER", {"value": "of owner"}, owner="demo")
    mock.control("PUT", "/variables/ONLY_GLOBAL", {"value": "of everybody"})
    runner = mock.runner()
    mock.enqueue(ONE)
    task = mock.take(runner)
    assert (task.secrets["SHARED"], task.secrets["ONLY_OWNER"]) == ("of repository", "of owner")
    assert (task.vars["SHARED"], task.vars["ONLY_OWNER"]) == ("of repository", "of owner")
    assert task.vars["ONLY_GLOBAL"] == "of everybody"


@holds_for(*NEW)
def test_s38_disabled_runner_gets_no_task(mock: Mock) -> None:
    runner = mock.runner()
    before = mock.fetch(runner).tasks_version
    mock.control("PATCH", f"/runners/{runner.id}", {"disabled": True})
    mock.enqueue(ONE)
    answer = mock.fetch(runner)
    assert not answer.HasField("task")
    assert answer.tasks_version > before
    mock.control("PATCH", f"/runners/{runner.id}", {"disabled": False})
    enabled = mock.fetch(runner, answer.tasks_version)
    assert enabled.HasField("task"), "enabling a runner bumps the version"


@holds_for(*NEW)
def test_s39_throttled_pick_echoes_the_version(mock: Mock) -> None:
    runner = mock.runner()
    mock.enqueue(ONE)
    current = mock.fetch(mock.runner(["other"])).tasks_version
    mock.control("PATCH", "/settings", {"max_concurrent_task_picks": 0})
    for sent in (0, current + 7):
        answer = mock.fetch(runner, sent)
        assert (answer.tasks_version, answer.HasField("task")) == (sent, False)
    equal = mock.fetch(runner, current)
    assert (equal.tasks_version, equal.HasField("task")) == (current, False)
    mock.control("PATCH", "/settings", {"max_concurrent_task_picks": 16})
    assert mock.fetch(runner).HasField("task")


def drop_during_fetch(mock: Mock) -> tuple[int, int]:
    """Let a runner vanish while its claim is made; returns (run id, version before)."""
    runner = mock.runner()
    run_id = mock.enqueue(ONE)["run_id"]
    version = mock.fetch(mock.runner(["other"])).tasks_version
    mock.control("POST", "/faults", {"name": "gate", "method": "FetchTask", "kind": "hold", "stage": "after"})
    connection = mock.connect()
    connection.send("POST", f"{BASE}/runner.v1.RunnerService/FetchTask", [PROTO, VERSION, *runner.headers])
    eventually(lambda: mock.job(run_id, "a")["status"], lambda status: status == "running")
    connection.close()
    mock.control("DELETE", "/faults/gate")
    eventually(lambda: any(entry["outcome"] == "abandoned" for entry in journal(mock)), within_s=10)
    mock.settle()
    return run_id, version


def journal(mock: Mock) -> list[dict[str, str]]:
    return list(mock.control("GET", "/journal", method="FetchTask", limit=20)["entries"])


@holds_for(*NEW)
def test_s40_dropped_fetch_gives_the_job_back(mock: Mock) -> None:
    run_id, version = drop_during_fetch(mock)
    job = eventually(lambda: mock.job(run_id, "a"), lambda job: job["status"] == "waiting")
    assert job["task"] is None
    other = mock.runner(name="r2")
    answer = mock.fetch(other, version)
    assert answer.HasField("task")
    assert answer.tasks_version > version


@every_profile_but(*NEW)
def test_s40_dropped_fetch_leaves_the_job_running_on_older_servers(mock: Mock) -> None:
    run_id, _ = drop_during_fetch(mock)
    assert mock.job(run_id, "a")["status"] == "running"
    assert not mock.fetch(mock.runner(name="r2")).HasField("task")


@holds_for(*EPHEMERAL)
def test_s41_ephemeral_runner_with_a_running_task_gets_no_other(mock: Mock) -> None:
    runner = mock.runner(ephemeral=True)
    mock.enqueue(jobs(2))
    mock.take(runner)
    assert not mock.fetch(runner).HasField("task")


@holds_for(*EPHEMERAL)
def test_s42_finished_ephemeral_runner_is_unregistered(mock: Mock, refused) -> None:  # type: ignore[no-untyped-def]
    runner = mock.runner(ephemeral=True)
    mock.enqueue(jobs(2))
    task = mock.take(runner)
    mock.append(runner, task.id, 0, ["bye"], no_more=True)
    assert mock.update(runner, task.id, pb.RESULT_SUCCESS).state.result == pb.RESULT_SUCCESS
    for method, message in (
        ("FetchTask", pb.FetchTaskRequest()),
        ("UpdateTask", pb.UpdateTaskRequest(state=pb.TaskState(id=task.id))),
        ("UpdateLog", pb.UpdateLogRequest(task_id=task.id)),
        ("Declare", pb.DeclareRequest()),
    ):
        refused(mock.rpc(method, message, runner), "unauthenticated", "unregistered runner")


@holds_for(*FORGEJO_15)
def test_s43_capacity_brings_additional_tasks(mock: Mock) -> None:
    runner = mock.runner()
    mock.enqueue(jobs(3))
    answer = mock.fetch(runner, 0, capacity=2)
    assert answer.HasField("task")
    assert len(answer.additional_tasks) == 1
    assert answer.task.id != answer.additional_tasks[0].id
    assert mock.fetch(runner).HasField("task")
    assert not mock.fetch(runner).HasField("task")


@every_profile_but(*FORGEJO_15)
def test_s43_other_servers_ignore_the_capacity(mock: Mock) -> None:
    mock.enqueue(jobs(3))
    answer = mock.fetch(mock.runner(), 0, capacity=3)
    assert answer.HasField("task")
    assert not answer.additional_tasks


KEY = [("x-runner-request-key", "6f1c2a54-0a53-4a1e-9a55-2f5cf2a0f001")]


@holds_for(*FORGEJO_15)
def test_s44_same_request_key_recovers_the_same_tasks_with_new_tokens(mock: Mock) -> None:
    runner = mock.runner()
    mock.enqueue(jobs(3))
    first = mock.fetch(runner, 0, capacity=2, headers=KEY)
    again = mock.fetch(runner, first.tasks_version, capacity=2, headers=KEY)
    ids = [first.task.id, *(task.id for task in first.additional_tasks)]
    assert sorted([again.task.id, *(task.id for task in again.additional_tasks)]) == sorted(ids)
    assert again.tasks_version == 0
    assert again.task.secrets["GITEA_TOKEN"] != first.task.secrets["GITEA_TOKEN"]
    assert mock.rest("GET", "/actions/run", token=first.task.secrets["GITEA_TOKEN"]).status in {401, 403, 404}


@holds_for(*FORGEJO_15)
def test_s45_request_key_of_another_runner_recovers_nothing(mock: Mock) -> None:
    mock.enqueue(jobs(2))
    first = mock.fetch(mock.runner(), 0, headers=KEY)
    other = mock.fetch(mock.runner(name="r2"), 0, headers=KEY)
    assert other.task.id != first.task.id
    assert other.tasks_version >= 1


@every_profile_but(*FORGEJO_15)
def test_s44_other_servers_ignore_the_request_key(mock: Mock) -> None:
    runner = mock.runner()
    mock.enqueue(jobs(2))
    first, second = mock.fetch(runner, 0, headers=KEY), mock.fetch(runner, 0, headers=KEY)
    assert first.task.id != second.task.id


@holds_for(*FORGEJO_15)
def test_s46_fetch_single_task_takes_the_job_of_the_handle(mock: Mock) -> None:
    runner = mock.runner()
    run_id = mock.enqueue(jobs(3))["run_id"]
    handle = mock.job(run_id, "j1")["handle"]
    assert handle

    def single(version: int, wanted: str) -> pb.FetchSingleTaskResponse:
        request = pb.FetchSingleTaskRequest(tasks_version=version, handle=wanted)
        return mock.call("FetchSingleTask", request, pb.FetchSingleTaskResponse, runner)

    current = single(0, "no such handle")
    assert not current.HasField("task")
    assert current.tasks_version >= 1
    assert not single(current.tasks_version, handle).HasField("task")
    task = single(0, handle).task
    assert list(workflow_yaml.load(task.workflow_payload)["jobs"]) == ["j1"]
    assert not single(0, handle).HasField("task")
    assert single(0, "").HasField("task"), "an empty handle takes any job"
