"""The calls of a runner to one server, in the runner's own values.

Owns identity, limits and what is found out about the server's family; the codec is `edge/connect.py`, the bytes are
the transport's. Every method raises `RpcError` when there is no answer.
"""

from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

from google.protobuf.message import Message

from actionsrunner.core.failures import Failure
from actionsrunner.core.family import Family, FamilyFinder
from actionsrunner.core.rows import Row
from actionsrunner.core.seams import TaskSpec
from actionsrunner.core.summaries import SummaryPlace
from actionsrunner.core.taskstate import TaskReport
from actionsrunner.edge.connect import RpcError, call, request_headers, unanswered
from actionsrunner.edge.messages import StateWriter, read_result, read_task, write_rows
from actionsrunner.edge.transport import DeadlinePassed, RawAnswer, Transport, TransportError
from actionswire import headers as names
from actionswire.codes import code_from_http
from actionswire.gen.ping.v1 import ping_pb2
from actionswire.gen.runner.v1 import runner_pb2 as pb
from actionswire.result import Result

A = TypeVar("A", bound=Message)

CALL_LIMIT_S: Final = 60.0
"""Longest any call may take, as in Gitea's runner since v3.2 and Forgejo's since 2025-11."""
_SUMMARY: Final = "PUT summary"
_TOO_MANY_REQUESTS: Final = 429
_PLAIN_CHARS_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Identity:
    """How the server knows this runner; uuid and token are empty before registration."""

    uuid: str = ""
    token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """The answer to Register; ``token`` is shown this one time."""

    id: int
    uuid: str
    token: str
    name: str
    ephemeral: bool


class Fetched(NamedTuple):
    """The answer to FetchTask; usually no task or one."""

    tasks: tuple[TaskSpec, ...]
    tasks_version: int


class StateAnswer(NamedTuple):
    """The answer to UpdateTask: the server's result for the task and all outputs it holds."""

    result: Result
    sent_outputs: tuple[str, ...]


class ReportLimits(NamedTuple):
    """How long one report may take, and what the server is told of it.

    Gitea's runner tells what is left of the job's time, not the limit of the call; None tells nothing.
    """

    call_s: float
    announce_s: float | None = None


class RunnerClient:
    """One runner's view of one server."""

    def __init__(self, transport: Transport, *, version: str, identity: Identity, family: Family | None) -> None:
        self._transport = transport
        self._version = version
        self._finder = FamilyFinder(family)
        self._announced: frozenset[str] = frozenset()
        self._identity = {"user-agent": f"actionsrunner/{version}"}
        if identity.uuid:
            self._identity[names.RUNNER_UUID] = identity.uuid
        if identity.token:
            self._identity[names.RUNNER_TOKEN] = identity.token

    @property
    def family(self) -> Family:
        """The family of the server as far as it is known; Gitea until then."""
        return self._finder.assumed

    @property
    def takes_summaries(self) -> bool:
        """Whether the server has announced that it takes job summaries."""
        return names.JOB_SUMMARY in self._announced

    async def ping(self, data: str) -> str:
        """Return the server's greeting."""
        request = ping_pb2.PingRequest(data=data)
        path = names.method_path(names.PING_SERVICE, names.PING)
        answer, _ = await call(
            self._transport, path, request, ping_pb2.PingResponse(), headers=self._headers(), limit_s=CALL_LIMIT_S
        )
        return answer.data

    async def register(
        self, *, name: str, token: str, labels: Sequence[str], capabilities: Sequence[str], ephemeral: bool
    ) -> Registered:
        """Create this runner on the server.

        Args:
            name: shown to people; need not be unique.
            token: the registration token.
            labels: names only, without scheme.
            capabilities: what the runner supports, e.g. ``cancelling``.
            ephemeral: ask for a runner that the server removes after one task.

        Source: docs/protocol.md, "Register and Declare".
        """
        request = pb.RegisterRequest(
            name=name,
            token=token,
            version=self._version,
            labels=labels,
            # Forgejo's runner repeats them in the old field, Gitea's no longer does.
            agent_labels=labels if self.family is Family.FORGEJO else (),
            capabilities=capabilities,
            ephemeral=ephemeral,
        )
        answer, _ = await self._call(names.REGISTER, request, pb.RegisterResponse(), self._headers())
        runner = answer.runner
        return Registered(
            id=runner.id, uuid=runner.uuid, token=runner.token, name=runner.name, ephemeral=runner.ephemeral
        )

    async def declare(self, *, labels: Sequence[str], capabilities: Sequence[str]) -> frozenset[str]:
        """Tell version, label names and capabilities; return the capabilities that the server announces."""
        request = pb.DeclareRequest(version=self._version, labels=labels, capabilities=capabilities)
        answer, headers = await self._call(names.DECLARE, request, pb.DeclareResponse(), self._headers())
        announced = headers.get(names.CAPABILITIES.lower())
        self._finder.declared(announces_capabilities=announced is not None, ephemeral=answer.runner.ephemeral)
        self._announced = frozenset(part.strip() for part in (announced or "").split(",") if part.strip())
        return self._announced

    async def fetch_task(self, *, tasks_version: int, free_slots: int, request_key: str, limit_s: float) -> Fetched:
        """Ask for work.

        Args:
            tasks_version: the last one seen; 0 makes the server look into its queue whatever the version.
            free_slots: tasks that may come; told to Forgejo only.
            request_key: names this attempt (empty for none), so that Forgejo can repeat a lost answer. It is sent
                until the server is known to be Gitea, which ignores it: only so a first answer that gets lost can be
                recovered.
            limit_s: our deadline, which the server is told.
        """
        limit_s = min(limit_s, CALL_LIMIT_S)
        request = pb.FetchTaskRequest(tasks_version=tasks_version)
        headers = self._headers(announce_s=limit_s)
        if self._finder.known is Family.FORGEJO:
            request.task_capacity = free_slots
        if request_key and self._finder.known is not Family.GITEA:
            headers[names.REQUEST_KEY] = request_key
        answer, _ = await self._call(names.FETCH_TASK, request, pb.FetchTaskResponse(), headers, limit_s=limit_s)
        if not answer.additional_tasks and not answer.HasField("task"):
            return Fetched((), answer.tasks_version)  # what most polls bring
        # Forgejo 14.0.0 and 14.0.1 could fill the additional tasks without the first.
        found = [answer.task] if answer.HasField("task") else []
        found.extend(answer.additional_tasks)
        tasks = tuple(read_task(task) for task in found)
        for task in tasks:
            self._finder.fetched(names=(*task.secrets, *task.context), several=bool(answer.additional_tasks))
        return Fetched(tasks=tasks, tasks_version=answer.tasks_version)

    async def update_log(
        self, task_id: int, index: int, rows: Sequence[Row], *, no_more: bool, limits: ReportLimits
    ) -> int:
        """Send rows, the first of which has the absolute number ``index``; return the server's ack index."""
        request = write_rows(task_id, index, rows, no_more=no_more)
        answer, _ = await self._report(names.UPDATE_LOG, request, pb.UpdateLogResponse(), limits)
        return answer.ack_index

    async def update_task(
        self, report: TaskReport, outputs: Mapping[str, str], *, limits: ReportLimits, writer: StateWriter
    ) -> StateAnswer:
        """Send the state of a task and the outputs that the server has not confirmed.

        Args:
            report: the state.
            outputs: those that the server has not confirmed.
            limits: of this call.
            writer: the task's own.
        """
        request = writer.write(report, outputs)
        answer, _ = await self._report(names.UPDATE_TASK, request, pb.UpdateTaskResponse(), limits)
        return StateAnswer(read_result(answer.state.result), tuple(answer.sent_outputs))

    async def put_summary(self, place: SummaryPlace, step: int, text: str, *, limit_s: float) -> None:
        """Store the Markdown of a job's step in place of what is stored for it.

        Source: docs/protocol.md, "Job summaries".
        """
        headers = {
            "user-agent": self._identity["user-agent"],
            "authorization": f"Bearer {place.token}",
            "content-type": "text/markdown",
            "accept-encoding": "gzip",
        }
        path = names.SUMMARY_PATH.format(run_id=place.run_id, job_id=place.job_id, step_index=step)
        try:
            raw = await self._transport.send("PUT", path, headers, text.encode("utf-8", "replace"), limit_s)
        except (DeadlinePassed, TransportError) as error:
            raise unanswered(_SUMMARY, error) from error
        if raw.status != 200:
            raise _not_stored(raw)

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    # Plain functions, because every call passes here and a coroutine less is felt.

    def _report(
        self, method: str, request: Message, answer: A, limits: ReportLimits
    ) -> Coroutine[Any, Any, tuple[A, Mapping[str, str]]]:
        # Forgejo's runner reports without a deadline, Gitea's within that of the job.
        announce_s = None if self._finder.assumed is Family.FORGEJO else limits.announce_s
        headers = request_headers(self._identity, announce_s=announce_s)
        return self._call(method, request, answer, headers, limit_s=limits.call_s)

    def _headers(self, *, announce_s: float | None = None) -> dict[str, str]:
        return request_headers(self._identity, announce_s=announce_s)

    def _call(
        self, method: str, request: Message, answer: A, headers: Mapping[str, str], *, limit_s: float = CALL_LIMIT_S
    ) -> Coroutine[Any, Any, tuple[A, Mapping[str, str]]]:
        path = names.method_path(names.RUNNER_SERVICE, method)
        return call(self._transport, path, request, answer, headers=headers, limit_s=limit_s)


def _not_stored(raw: RawAnswer) -> RpcError:
    """Return what an answer without success says; this service answers in plain text."""
    transient = raw.status == _TOO_MANY_REQUESTS or raw.status >= 500
    is_plain = raw.headers.get("content-type", "").startswith("text/plain")
    said = f": {raw.body[:_PLAIN_CHARS_MAX].decode('utf-8', 'replace').strip()}" if is_plain and raw.body else ""
    failure = Failure.RETRY if transient else Failure.REFUSED
    return RpcError(_SUMMARY, failure, code_from_http(raw.status), f"HTTP {raw.status}{said}")
