"""Reads every journal entry as it closes and keeps exact aggregates: traffic, latencies, gaps, what was wasted.

An observer only: it decodes the bodies that the server received and sent, and needs nothing from the runner, so it
measures foreign runners as well. Times are microseconds since the simulation began.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from actionswire.gen.runner.v1 import runner_pb2 as pb
from actionswire.result import Result, Status
from mockgitea.core.calls import Method, Outcome
from mockgitea.core.journal import Entry
from mockgitea.core.task_progress import closing_status
from mockgitea.lab.distribution import Distribution
from mockgitea.lab.page_model import PageModel, next_tick
from mockgitea.lab.tally import SECOND_US, Series, Tally
from mockgitea.transport import connect, convert

M = TypeVar("M", bound=Message)

SAMPLE_ROWS_MAX: Final = 100_000
"""Rows of one sampled task whose first sight is remembered one by one."""
LOOKED_MAX: Final = 10_000
"""Pairs of request and answer whose reading is remembered, of fetches and of logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurePlan:
    """What is measured: the window (half open), the page's phase within each second, and the fleet's capacity."""

    start_us: int
    end_us: int
    phase_us: int
    capacity: int
    epoch_us: int
    any_step: bool = True
    sampled_tasks: int = 0
    """Of so many first tasks the sight of every row is kept, to be compared with a real watcher."""


@dataclass(slots=True, eq=False)
class TaskTrack:
    """One task as the server's answers describe it."""

    runner: str
    shape: str
    run_id: int
    page: PageModel
    updated_us: int
    """When a call last counted as a sign of life."""
    worst_gap_us: int = 0
    last_state: bytes = b""
    started: dict[int, int] = field(default_factory=dict)
    stopped: dict[int, int] = field(default_factory=dict)
    is_closed: bool = False
    """The runner has reported a result."""
    is_stopped: bool = False
    """The server ended it before the runner did."""
    sights: list[tuple[int, int]] | None = None
    """Of a sampled task: each row's own time and when the page showed it."""

    def alive(self, at_us: int) -> None:
        """Note a sign of life."""
        self.worst_gap_us = max(self.worst_gap_us, at_us - self.updated_us)
        self.updated_us = at_us


@dataclass(frozen=True, slots=True)
class _Beat:
    """The answer to a task's last UpdateTask."""

    track: TaskTrack
    response: bytes


class Measure:
    """All figures of one simulation.

    Args:
        plan: window, phase, capacity.
        now_us: virtual time.
    """

    def __init__(self, plan: MeasurePlan, now_us: Callable[[], int]) -> None:
        self.plan = plan
        self._now_us = now_us
        self.tally = Tally()
        self.tasks: dict[int, TaskTrack] = {}
        self.busy: dict[str, int] = {}
        """Tasks in progress per runner."""
        self.waiting: dict[int, int] = {}
        """When the job of each run that is not assigned yet began to wait."""
        self.pickup = Distribution()
        self.rows = Distribution()
        self.rows_by_shape: dict[str, Distribution] = {}
        self.step_stored = Distribution()
        self.step_visible = Distribution()
        self.fetches_while_full = 0
        self.picks_without_task = 0
        self.on_assigned: Callable[[int, TaskTrack], None] | None = None
        """Called with the number of every newly assigned task."""
        self.downtimes: frozenset[str] = frozenset()
        """Names of downtime rules: what one of them answered or swallowed has not arrived at the server."""
        self.attempts: dict[str, Series] = {}
        """By method, what runners tried to send, whether it arrived or not."""
        self._is_over = False
        self._looked: dict[tuple[bytes, bytes], bool] = {}
        self._beats: dict[bytes, _Beat] = {}
        """Of each task in progress its last UpdateTask, to tell a repetition by its bytes alone."""
        self._idle_logs: set[tuple[bytes, bytes]] = set()
        """UpdateLog calls that brought no new row; the same bytes will not bring one later."""

    def enqueued(self, run_id: int) -> None:
        """Note that the one job of a run waits from now on."""
        self.waiting[run_id] = self._now_us()

    def attempted(self, path: str, at_us: int) -> None:
        """Note that a runner is about to send a request."""
        method = path[path.rfind("/") + 1 :]
        series = self.attempts.get(method)
        if series is None:
            series = self.attempts[method] = Series(SECOND_US)
        series.count(at_us)

    def closed(self, entry: Entry) -> None:
        """Take one journal entry; the journal's ``on_close``."""
        if self._is_over:
            return  # what the end of the simulation cuts off is no figure of the fleet
        method = entry.method
        at_us = entry.at_us - self.plan.epoch_us
        if entry.fault in self.downtimes and not entry.response:
            return
        self.tally.count(method, entry.outcome, entry.runner_uuid, at_us)
        if method is Method.UPDATE_TASK:
            # An answer that a fault lost stands in the entry all the same, and the work for it is done.
            if entry.outcome is Outcome.OK or entry.response:
                self._state_stored(entry)
        elif method is Method.UPDATE_LOG:
            if entry.outcome is Outcome.OK or entry.response:
                self._rows_stored(entry)
        elif method in (Method.FETCH_TASK, Method.FETCH_SINGLE_TASK):
            self._fetched(entry, at_us)

    def finish(self) -> None:
        """Let every page poll a last time and close the open gaps."""
        self._is_over = True
        end_us = self._now_us()
        for track in self.tasks.values():
            track.page.look(end_us)
            if not track.is_closed and not track.is_stopped:
                track.worst_gap_us = max(track.worst_gap_us, end_us - track.updated_us)

    @property
    def reaped(self) -> int:
        """Tasks that the server ended and nobody had cancelled."""
        return sum(track.is_stopped for track in self.tasks.values())

    @property
    def rows_unseen(self) -> int:
        """Rows stored that no page had shown by the end."""
        return sum(track.page.unseen for track in self.tasks.values())

    def _in_window(self, at_us: int) -> bool:
        return self.plan.start_us <= at_us < self.plan.end_us

    # Fetches.

    def _fetched(self, entry: Entry, at_us: int) -> None:
        runner = entry.runner_uuid
        in_window = self._in_window(at_us)
        if in_window and self.busy.get(runner, 0) >= self.plan.capacity:
            self.fetches_while_full += 1
        if entry.outcome is Outcome.EMPTY:
            if in_window and self._looked_in_vain(entry):
                self.picks_without_task += 1
        elif entry.outcome is Outcome.TASK:
            answer = _decoded(entry, entry.response, pb.FetchTaskResponse)
            for task in (answer.task, *answer.additional_tasks):
                self._assigned(task, runner)

    def _looked_in_vain(self, entry: Entry) -> bool:
        """Tell whether the server looked into its queue: it does unless the runner's version was the current one."""
        key = (entry.request, entry.response)
        found = self._looked.get(key)
        if found is None:
            if len(self._looked) >= LOOKED_MAX:
                self._looked.clear()
            single = entry.method is Method.FETCH_SINGLE_TASK
            if single:
                sent = _decoded(entry, entry.request, pb.FetchSingleTaskRequest).tasks_version
                held = _decoded(entry, entry.response, pb.FetchSingleTaskResponse).tasks_version
            else:
                sent = _decoded(entry, entry.request, pb.FetchTaskRequest).tasks_version
                held = _decoded(entry, entry.response, pb.FetchTaskResponse).tasks_version
            found = self._looked[key] = sent != held
        return found

    def _assigned(self, task: pb.Task, runner: str) -> None:
        now_us = self._now_us()
        run_id = int(task.context.fields["run_id"].string_value or 0)
        shape = task.context.fields["workflow"].string_value.rpartition(".")[0]
        self.busy[runner] = self.busy.get(runner, 0) + 1
        waiting_us = self.waiting.pop(run_id, None)
        if waiting_us is not None and self._in_window(waiting_us):
            self.pickup.add(now_us - waiting_us)
        sights: list[tuple[int, int]] | None = [] if len(self.tasks) < self.plan.sampled_tasks else None
        by_shape = self.rows_by_shape.setdefault(shape, Distribution())

        start_us, end_us = self.plan.start_us, self.plan.end_us

        def on_rows(times_us: Sequence[int], seen_us: int) -> None:
            if sights is not None:
                sights.extend((row_us, seen_us) for row_us in times_us[: SAMPLE_ROWS_MAX - len(sights)])
            delays = [seen_us - row_us for row_us in times_us if start_us <= row_us < end_us]
            self.rows.values.extend(delays)
            by_shape.values.extend(delays)

        page = PageModel(assigned_us=now_us, phase_us=self.plan.phase_us, any_step=self.plan.any_step, on_rows=on_rows)
        track = TaskTrack(runner, shape, run_id, page, updated_us=now_us, sights=sights)
        self.tasks[task.id] = track
        if self.on_assigned is not None:
            self.on_assigned(task.id, track)

    # Reports.

    def _rows_stored(self, entry: Entry) -> None:
        pair = (entry.request, entry.response)
        if pair in self._idle_logs:
            return
        request = _decoded(entry, entry.request, pb.UpdateLogRequest)
        track = self.tasks.get(request.task_id)
        if track is None:
            return
        answer = _decoded(entry, entry.response, pb.UpdateLogResponse)
        held = track.page.rows
        fresh = answer.ack_index - held
        if fresh <= 0:
            if len(self._idle_logs) >= LOOKED_MAX:
                self._idle_logs.clear()
            self._idle_logs.add(pair)
            return
        now_us = self._now_us()
        if not track.is_closed:
            track.alive(now_us)
        skip, epoch_us = held - request.index, self.plan.epoch_us
        stamps = [row.time for row in request.rows[skip : skip + fresh]]
        track.page.stored([stamp.seconds * 1_000_000 + stamp.nanos // 1000 - epoch_us for stamp in stamps], now_us)

    def _state_stored(self, entry: Entry) -> None:
        beat = self._beats.get(entry.request)
        if beat is not None and beat.response == entry.response:
            beat.track.alive(self._now_us())
            return
        request = _decoded(entry, entry.request, pb.UpdateTaskRequest)
        track = self.tasks.get(request.state.id)
        if track is None or track.is_closed:
            return
        now_us = self._now_us()
        answer = _decoded(entry, entry.response, pb.UpdateTaskResponse)
        track.alive(now_us)
        was_final = track.page.status.is_final
        if request.state.result:
            track.is_closed = True
            self.busy[track.runner] -= 1
        if was_final:
            return
        if answer.state.result and not request.state.result:
            self._stopped_by_server(track, answer.state.result, now_us)
        elif entry.request != track.last_state:
            self._beats.pop(track.last_state, None)
            track.last_state = entry.request
            if not track.is_closed:
                self._beats[entry.request] = _Beat(track, entry.response)
            report = convert.task_report(request.state)
            status = track.page.status
            if report.result is not Result.UNSPECIFIED:
                status = closing_status(status, report.result)
            self._note_steps(track, request.state.steps, now_us)
            track.page.reported(report.steps, status, now_us)

    def _stopped_by_server(self, track: TaskTrack, result: int, now_us: int) -> None:
        if Result(result) is Result.CANCELLED:
            return  # the runner goes on to its end; a cancelling task is no reaped one
        track.is_stopped = True
        track.page.stopped(Status(result), now_us)

    def _note_steps(self, track: TaskTrack, steps: Sequence[pb.StepState], now_us: int) -> None:
        for step in steps:
            if step.HasField("started_at") and step.id not in track.started:
                track.started[step.id] = self._transition(step.started_at, now_us)
            if step.result and step.id not in track.stopped:
                track.stopped[step.id] = self._transition(step.stopped_at, now_us)

    def _transition(self, stamp: Timestamp, now_us: int) -> int:
        at_us: int = stamp.seconds * 1_000_000 + stamp.nanos // 1000 - self.plan.epoch_us
        if self._in_window(at_us):
            self.step_stored.add(now_us - at_us)
            self.step_visible.add(next_tick(now_us, self.plan.phase_us) - at_us)
        return at_us


def _decoded(entry: Entry, body: bytes, kind: type[M]) -> M:
    if entry.content_type == connect.PROTO:
        return kind.FromString(body)
    codec = connect.codec_for(entry.content_type.encode("latin-1"))
    assert codec is not None, "an answered call had a codec"
    message = codec.decode(body, kind)
    assert isinstance(message, kind)
    return message
