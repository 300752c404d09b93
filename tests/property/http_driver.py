"""The model's operations against a real server process: RPCs on the runner port, the rest through the control API."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import yaml
from drivers import REPOSITORIES, Heard, workflow
from model import JobSpec

from actionswire.gen.runner.v1 import runner_pb2 as pb
from serverproc import Identity, Mock

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOBODY = Identity(0, "nobody", "nothing")
PROBE = "probe"
"""Label of the runners that read the counters; no job asks for it."""


class HttpDriver:
    """A freshly reset server."""

    def __init__(self, mock: Mock, *, has_versions: bool) -> None:
        self.mock = mock
        self.identities: list[Identity] = []
        self.run_ids: list[int] = []
        mock.control("POST", "/reset")
        for name in REPOSITORIES:
            mock.repository(name)
        self.probes: dict[str, Identity] = {}
        if has_versions:
            for scope, owner, repo in (
                ("global", False, 0),
                ("owner", True, 0),
                ("repo1", False, 1),
                ("repo2", False, 2),
            ):
                self.probes[scope] = mock.runner([PROBE], name=PROBE, scope=self._scope(owner, repo))
            self.versions()
        mock.settle()

    @property
    def now_us(self) -> int:
        """The server's clock."""
        return int(self.mock.control("GET", "/clock")["now_us"])

    def versions(self) -> dict[str, int]:
        """Return the counters, as runners without any job see them."""
        return {scope: self.mock.fetch(probe).tasks_version for scope, probe in self.probes.items()}

    def do(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Do one operation; `Heard` when it is refused."""
        answer = getattr(self, f"_{name}")(**arguments)
        self.mock.settle()
        return answer

    def _scope(self, owner: bool, repo: int) -> dict[str, str]:
        if repo:
            return {"repository": REPOSITORIES[repo - 1]}
        return {"owner": REPOSITORIES[0].partition("/")[0]} if owner else {}

    def _call(self, method: str, request: Any, answer: Any, who: Identity | None, *headers: tuple[str, str]) -> Any:
        reply = self.mock.rpc(method, request, who, headers)
        if reply.status == 200:
            return answer.FromString(reply.body)
        message = str(reply.json()["message"])
        raise Heard(message.partition(" desc = ")[2] or message)

    def _who(self, who: int) -> Identity:
        return self.identities[who] if who < len(self.identities) else NOBODY

    def _register(
        self, token: str, name: str, owner: bool, repo: int, labels: tuple[str, ...], agent_labels: tuple[str, ...],
        ephemeral: bool, cancelling: bool,
    ) -> Any:  # fmt: skip
        real = self.mock.registration_token(**self._scope(owner, repo)) if token == "good" else token
        request = pb.RegisterRequest(
            name=name, token=real, labels=labels, agent_labels=agent_labels, ephemeral=ephemeral,
            capabilities=["cancelling"] if cancelling else [],
        )  # fmt: skip
        runner = self._call("Register", request, pb.RegisterResponse, None).runner
        self.identities.append(Identity(runner.id, runner.uuid, runner.token))
        return (runner.name, tuple(runner.labels), runner.ephemeral)

    def _declare(self, who: int, labels: tuple[str, ...], cancelling: bool) -> Any:
        request = pb.DeclareRequest(version="v1", labels=labels, capabilities=["cancelling"] if cancelling else [])
        return tuple(self._call("Declare", request, pb.DeclareResponse, self._who(who)).runner.labels)

    def _toggle(self, who: int, disabled: bool) -> None:
        self.mock.control("PATCH", f"/runners/{self._who(who).id}", {"disabled": disabled})

    def _delete_runner(self, who: int) -> None:
        self.mock.control("DELETE", f"/runners/{self._who(who).id}")

    def _enqueue(self, repo: int, specs: Sequence[JobSpec]) -> None:
        made = self.mock.enqueue(workflow(specs), repository=REPOSITORIES[repo - 1], event="workflow_dispatch")
        self.run_ids.append(made["run_id"])

    def _rerun(self, number: int) -> None:
        self.mock.control("POST", f"/runs/{self.run_ids[number]}/rerun", {})

    def _cancel(self, number: int) -> None:
        self.mock.control("POST", f"/runs/{self.run_ids[number]}/cancel", {})

    def _fetch(self, who: int, version: int, capacity: int | None, key: str) -> Any:
        request = pb.FetchTaskRequest(tasks_version=version)
        if capacity is not None:
            request.task_capacity = capacity
        headers = [("x-runner-request-key", key)] if key else []
        answer = self._call("FetchTask", request, pb.FetchTaskResponse, self._who(who), *headers)
        tasks = [*([answer.task] if answer.HasField("task") else []), *answer.additional_tasks]
        return (answer.tasks_version, [self._seen(task) for task in tasks])

    def _seen(self, task: pb.Task) -> Any:
        words = ("", "success", "failure", "cancelled", "skipped")
        needs = {name: (words[need.result], dict(need.outputs)) for name, need in task.needs.items()}
        (name,) = yaml.safe_load(task.workflow_payload)["jobs"]
        return (task.id, self.run_ids.index(int(task.context["run_id"])) + 1, name, needs)

    def _update_task(
        self, who: int, number: int, result: int, stopped: int, steps: Sequence[Mapping[str, int]],
        outputs: Mapping[str, str],
    ) -> Any:  # fmt: skip
        state = pb.TaskState(id=number, result=result)  # type: ignore[arg-type]  # enum values are numbers
        put_time(state.stopped_at, stopped)
        for one in steps:
            step = state.steps.add(
                id=one["id"], result=one["result"], log_index=one["log_index"], log_length=one["log_length"]
            )
            put_time(step.started_at, one["started"])
            put_time(step.stopped_at, one["stopped"])
        request = pb.UpdateTaskRequest(state=state, outputs=outputs)
        answer = self._call("UpdateTask", request, pb.UpdateTaskResponse, self._who(who))
        return (answer.state.id, int(answer.state.result), sorted(answer.sent_outputs))

    def _update_log(self, who: int, number: int, index: int, rows: Sequence[tuple[int, str]], no_more: bool) -> Any:
        request = pb.UpdateLogRequest(task_id=number, index=index, no_more=no_more)
        for time_ns, content in rows:
            row = request.rows.add(content=content)
            row.time.seconds, row.time.nanos = divmod(time_ns, 1_000_000_000)
        return self._call("UpdateLog", request, pb.UpdateLogResponse, self._who(who)).ack_index

    def _advance(self, seconds: float) -> None:
        self.mock.control("POST", "/clock/advance", {"seconds": seconds})

    def snapshot(self, tasks: Sequence[int]) -> dict[str, Any]:
        """Read what a person would see, for these tasks."""
        runs = []
        for run_id in self.run_ids:
            run = self.mock.run(run_id)
            jobs = [(job["job_id"], job["status"], (job["task"] or {"id": 0})["id"]) for job in run["jobs"]]
            runs.append({"status": run["status"], "jobs": jobs})
        alive = {runner["uuid"] for runner in self.mock.control("GET", "/runners")["runners"]}
        return {
            "runs": runs,
            "tasks": {number: self._task(number) for number in tasks},
            "runners": [number for number, one in enumerate(self.identities) if one.uuid in alive],
        }

    def _task(self, number: int) -> dict[str, Any]:
        task = self.mock.control("GET", f"/tasks/{number}")
        log = self.mock.control_reply("GET", f"/tasks/{number}/log").body if task["log_rows"] else b""
        return {
            "status": task["status"],
            "steps": [
                (one["status"], one["log_index"], one["log_length"], to_us(one["started_at"]), to_us(one["stopped_at"]))
                for one in task["steps"]
            ],
            "outputs": task["outputs"],
            "sealed": task["is_log_sealed"],
            "log": log.split(b"\n")[:-1],
        }


def put_time(field: Any, at_us: int) -> None:
    """Fill a timestamp unless the time is absent."""
    if at_us:
        field.seconds, micros = divmod(at_us, 1_000_000)
        field.nanos = micros * 1000


def to_us(text: str | None) -> int:
    """Read a time of the control API; none is 0."""
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1) if text else 0
