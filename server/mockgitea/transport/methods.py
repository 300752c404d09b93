"""The runner service's methods on decoded messages: authenticate, call the service, build the answer.

Connect and gRPC share this table, so a rule exists once. Bytes, headers and statuses are theirs.
Source: docs/protocol.md, "Transport".
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from google.protobuf.message import Message

from actionswire import headers
from actionswire.codes import Code
from actionswire.gen.ping.v1 import ping_pb2
from actionswire.gen.runner.v1 import runner_pb2 as pb
from mockgitea.core.calls import Method, Outcome
from mockgitea.core.dispatch import Mishap
from mockgitea.core.errors import ServerFault
from mockgitea.core.journal import Entry
from mockgitea.core.messages import Fetched, TaskReport
from mockgitea.transport import convert
from mockgitea.transport.dialect import WireError

if TYPE_CHECKING:
    from mockgitea.service.container import Services
    from mockgitea.service.directory import RunnerRecord

RUNNER_GZIP_FROM_BYTES: Final = 1024
"""RunnerService compresses only from here on; PingService has no minimum."""


REPORTS_KEPT_MAX: Final = 2_000
REPORT_KEPT_BYTES_MAX: Final = 1024
"""Of so many tasks the last UpdateTask is remembered, unless it was longer than this, with what it said."""

_UUID: Final = headers.RUNNER_UUID.encode()
_TOKEN: Final = headers.RUNNER_TOKEN.encode()
_REQUEST_KEY: Final = headers.REQUEST_KEY.encode()


class CallerGone(Exception):
    """The caller went away before its request was complete, or before its answer was ready."""


class Caller:
    """Who calls, and whether anybody still waits for the answer.

    Args:
        fields: request headers or metadata, lower-case names and values as bytes.
        now_s: monotonic time source of ``deadline_s``.
        is_gone: tells whether the connection or call was given up by the other side.
    """

    __slots__ = ("_fields", "body", "deadline_s", "is_gone", "mishap", "now_s")

    def __init__(
        self, fields: Mapping[bytes, bytes], *, now_s: Callable[[], float], is_gone: Callable[[], bool]
    ) -> None:
        self._fields = fields
        self.now_s = now_s
        self.is_gone = is_gone
        self.deadline_s: float | None = None
        """When the caller's own time-out ends; None without one."""
        self.body = b""
        """The message's bytes where they are binary protobuf and whole; empty where they are not known."""
        self.mishap: Mishap | None = None
        """What a fault does to its fetch."""

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """Return what it sent beside the message."""
        return tuple(self._fields.items())

    @property
    def uuid(self) -> str:
        """The runner it claims to be; empty when it does not say."""
        return self._fields.get(_UUID, b"").decode("latin-1")

    @property
    def token(self) -> str:
        """The runner's secret; never logged."""
        return self._fields.get(_TOKEN, b"").decode("latin-1")

    @property
    def request_key(self) -> str:
        """Name of one fetch attempt, for profiles that know it."""
        return self._fields.get(_REQUEST_KEY, b"").decode("latin-1")

    def is_late(self) -> bool:
        """Tell whether the caller's deadline has passed."""
        return self.deadline_s is not None and self.now_s() >= self.deadline_s


class Reply(NamedTuple):
    """An answer: the message, how the call counts, and response headers of the method itself."""

    message: Message
    outcome: Outcome = Outcome.OK
    headers: tuple[tuple[bytes, bytes], ...] = ()
    task_ids: tuple[int, ...] = ()
    """Claims that nobody will work on unless this answer arrives."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """One method as the transports need it. ``is_active`` marks those that refresh last-active."""

    method: Method
    service: str
    request_type: type[Message]
    response_type: type[Message]
    is_active: bool = False
    gzip_from: int = RUNNER_GZIP_FROM_BYTES
    """Smallest answer that is compressed, in bytes."""

    @property
    def name(self) -> str:
        """Return ``package.Service/Method``."""
        return f"{self.service}/{self.method.value}"


_RUNNER: Final = headers.RUNNER_SERVICE
PROCEDURES: Final = (
    Procedure(Method.PING, headers.PING_SERVICE, ping_pb2.PingRequest, ping_pb2.PingResponse, gzip_from=0),
    Procedure(Method.REGISTER, _RUNNER, pb.RegisterRequest, pb.RegisterResponse),
    Procedure(Method.DECLARE, _RUNNER, pb.DeclareRequest, pb.DeclareResponse),
    Procedure(Method.FETCH_TASK, _RUNNER, pb.FetchTaskRequest, pb.FetchTaskResponse),
    Procedure(Method.FETCH_SINGLE_TASK, _RUNNER, pb.FetchSingleTaskRequest, pb.FetchSingleTaskResponse),
    Procedure(Method.UPDATE_TASK, _RUNNER, pb.UpdateTaskRequest, pb.UpdateTaskResponse, is_active=True),
    Procedure(Method.UPDATE_LOG, _RUNNER, pb.UpdateLogRequest, pb.UpdateLogResponse, is_active=True),
)

Handler = Callable[[Any, "RunnerRecord", Caller], Awaitable[Reply]]


class RunnerMethods:
    """The methods that the profile has, over the services."""

    def __init__(self, services: "Services") -> None:
        self._services = services
        self._profile = services.profile
        self._directory = services.directory
        self._open_handlers: Mapping[Method, Callable[[Any], Awaitable[Reply]]] = {
            Method.PING: self._ping,
            Method.REGISTER: self._register,
        }
        self._handlers: Mapping[Method, Handler] = {
            Method.DECLARE: self._declare,
            Method.FETCH_TASK: self._fetch_task,
            Method.FETCH_SINGLE_TASK: self._fetch_single_task,
            Method.UPDATE_TASK: self._update_task,
            Method.UPDATE_LOG: self._update_log,
        }
        self._reports: dict[int, tuple[bytes, TaskReport]] = {}
        """By task, the body of its last binary UpdateTask and what it said."""
        self._empty = (0, Reply(pb.FetchTaskResponse(), Outcome.EMPTY))
        extra = (headers.CAPABILITIES.encode(), self._profile.capabilities_header.encode())
        self._declare_headers = (extra,) if self._profile.capabilities_header else ()

    @property
    def procedures(self) -> tuple[Procedure, ...]:
        """Return the methods of this profile; the others are unknown to its peers."""
        absent = set()
        if not self._profile.has_declare:
            absent.add(Method.DECLARE)
        if not self._profile.has_fetch_single_task:
            absent.add(Method.FETCH_SINGLE_TASK)
        return tuple(procedure for procedure in PROCEDURES if procedure.method not in absent)

    def invoke(self, procedure: Procedure, request: Any, caller: Caller, entry: Entry) -> Awaitable[Reply]:
        """Authenticate, then start one call; await the result for the reply.

        A plain function, because every poll passes here and one coroutine less is felt.

        Raises:
            Refusal: the answer is an error on purpose; the transport puts it into the profile's dialect.
            WireError: the answer is an error whatever the dialect.
        """
        handler = self._open_handlers.get(procedure.method)
        if handler is not None:
            if caller.is_late():
                raise _too_late()
            return handler(request)
        record = self._directory.authenticate(caller.uuid, caller.token)
        entry.runner_uuid = record.uuid
        self._directory.seen(record, active=procedure.is_active, now_us=entry.at_us)
        if caller.deadline_s is not None and caller.now_s() >= caller.deadline_s:
            raise _too_late()
        return self._handlers[procedure.method](request, record, caller)

    async def _ping(self, request: ping_pb2.PingRequest) -> Reply:
        return Reply(ping_pb2.PingResponse(data=f"Hello, {request.data}!"))

    async def _register(self, request: pb.RegisterRequest) -> Reply:
        record, token = await self._services.registration.register(convert.registering(request))
        ephemeral = record.is_ephemeral and self._profile.has_ephemeral
        return Reply(pb.RegisterResponse(runner=convert.runner_message(record, token=token, ephemeral=ephemeral)))

    async def _declare(self, request: pb.DeclareRequest, record: "RunnerRecord", _: Caller) -> Reply:
        declared = await self._services.registration.declare(
            record,
            version=request.version,
            labels=tuple(request.labels),
            capabilities=tuple(request.capabilities),
        )
        ephemeral = declared.is_ephemeral and self._profile.declare_echoes_ephemeral
        answer = pb.DeclareResponse(runner=convert.runner_message(declared, ephemeral=ephemeral))
        return Reply(answer, headers=self._declare_headers)

    async def _fetch_task(self, request: pb.FetchTaskRequest, record: "RunnerRecord", caller: Caller) -> Reply:
        profile = self._profile
        request_key = caller.request_key if profile.request_key else ""
        if not request_key and self._services.dispatch.has_nothing_new(record, request.tasks_version):
            return self._nothing_new(request.tasks_version)  # where most polls end, with nothing awaited
        has_capacity = profile.capacity_fetch and request.HasField("task_capacity")
        fetched = await self._services.dispatch.fetch(
            record,
            tasks_version=request.tasks_version,
            capacity=request.task_capacity if has_capacity else None,
            request_key=request_key,
            mishap=caller.mishap,
        )
        if not fetched.tasks:
            return self._nothing_new(fetched.tasks_version)
        answer = pb.FetchTaskResponse(tasks_version=fetched.tasks_version)
        first, *more = fetched.tasks
        answer.task.CopyFrom(convert.task_message(first))
        answer.additional_tasks.extend(convert.task_message(task) for task in more)
        return Reply(answer, Outcome.TASK, task_ids=_ids(fetched))

    def _nothing_new(self, tasks_version: int) -> Reply:
        # Between two bumps every poll of a scope gets this same answer.
        if self._empty[0] != tasks_version:
            answer = pb.FetchTaskResponse(tasks_version=tasks_version)
            self._empty = (tasks_version, Reply(answer, Outcome.EMPTY))
        return self._empty[1]

    async def _fetch_single_task(
        self, request: pb.FetchSingleTaskRequest, record: "RunnerRecord", caller: Caller
    ) -> Reply:
        fetched = await self._services.dispatch.fetch_single(
            record,
            tasks_version=request.tasks_version,
            handle=request.handle if request.HasField("handle") else None,
            request_key=caller.request_key if self._profile.request_key else "",
            mishap=caller.mishap,
        )
        answer = pb.FetchSingleTaskResponse(tasks_version=fetched.tasks_version)
        if not fetched.tasks:
            return Reply(answer, Outcome.EMPTY)
        answer.task.CopyFrom(convert.task_message(fetched.tasks[0]))
        return Reply(answer, Outcome.TASK, task_ids=_ids(fetched))

    async def give_back_if_late(self, reply: Reply, caller: Caller) -> None:
        """Undo the claims of an answer that comes too late, where the profile does that.

        Without claim release the answer is lost, and the job stays running until the zombie time-out.

        Raises:
            CallerGone: nobody is there to hear the answer.
            ServerFault: the caller's deadline has passed, and the claims were undone.
        """
        is_gone = caller.is_gone()
        is_late = caller.is_late()
        if not is_gone and not is_late:
            return
        if self._profile.claim_release:
            await self._services.dispatch.release(list(reply.task_ids))
        if is_gone:
            raise CallerGone
        if self._profile.claim_release:
            raise ServerFault("pick task: context deadline exceeded")

    def give_back_soon(self, reply: Reply) -> None:
        """Undo the claims of an answer whose call was cancelled, where the profile does that; returns at once."""
        if reply.task_ids:
            self._services.dispatch.release_soon(reply.task_ids)

    async def _update_task(self, request: pb.UpdateTaskRequest, record: "RunnerRecord", caller: Caller) -> Reply:
        if not request.HasField("state"):
            # Real handlers crash here and the recovery answers a text page, which a Go client reads as `unknown`.
            raise WireError(Code.UNKNOWN, "UpdateTask: field state is missing", is_plain_text=True)
        report = self._report(request, caller.body)
        answer = await self._services.progress.update_task(record, report, dict(request.outputs))
        state = pb.TaskState(id=answer.task_id, result=cast("pb.Result", int(answer.result)))
        return Reply(pb.UpdateTaskResponse(state=state, sent_outputs=answer.sent_outputs))

    def _report(self, request: pb.UpdateTaskRequest, body: bytes) -> TaskReport:
        """Read the state; a heartbeat often has the bytes of the last one, and reading them costs more than looking."""
        task_id: int = request.state.id
        last = self._reports.get(task_id)
        if last is not None and body and last[0] == body:
            return last[1]
        report = convert.task_report(request.state)
        if 0 < len(body) <= REPORT_KEPT_BYTES_MAX:
            if last is None and len(self._reports) >= REPORTS_KEPT_MAX:
                self._reports.clear()
            self._reports[task_id] = body, report
        return report

    async def _update_log(self, request: pb.UpdateLogRequest, record: "RunnerRecord", _: Caller) -> Reply:
        held = await self._services.logs.append(
            record,
            task_id=request.task_id,
            index=request.index,
            rows=convert.log_rows(request.rows),
            no_more=request.no_more,
        )
        return Reply(pb.UpdateLogResponse(ack_index=held))


def _ids(fetched: Fetched) -> tuple[int, ...]:
    return tuple(task.task_id for task in fetched.tasks)


def _too_late() -> WireError:
    return WireError(Code.DEADLINE_EXCEEDED, "context deadline exceeded")
