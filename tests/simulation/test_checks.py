"""Every checker finds what it is for: it is silent about a healthy history, and not about a broken one."""

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from checks import LIVENESS, SAFETY, problems_of, story
from history import Deed, Ending, History, Problem, Quiet, Sight, StoredLog
from schedule import draw

from actionswire.gen.runner.v1 import runner_pb2 as pb
from actionswire.result import Result
from calls import Recording
from virtualjobs import Execution
from virtualrunner import Exchange

SECRETS = {"TOKEN": "open-sesame"}
ROWS = ("j0 row 0", "the secret is ***, keep it")
PAYLOAD = "on: push\njobs: {j0: {runs-on: linux, steps: [run: rows 1]}}\n"
RPC = "/api/actions/runner.v1.RunnerService/"
SECOND = 1_000_000


def task(number: int = 1, run: int = 1) -> dict[str, Any]:
    payload = base64.b64encode(PAYLOAD.encode()).decode()
    return {"id": str(number), "workflowPayload": payload, "context": {"run_id": str(run), "run_attempt": "1"}}


def update_log(recording: Recording, index: int, *rows: str, ack: int, end: bool = False, **fields: Any) -> None:
    request = {"taskId": "1", "index": str(index), "rows": [{"content": row} for row in rows], "noMore": end}
    recording.add("UpdateLog", request, {"ackIndex": str(ack)}, **fields)


def session(*, rows: tuple[str, ...] = ROWS, acks: tuple[int, int] = (1, 2)) -> Recording:
    """One task from its fetch to its end."""
    recording = Recording()
    recording.add("FetchTask", {}, {"tasksVersion": "2", "task": task()}, outcome="task")
    update_log(recording, 0, rows[0], ack=acks[0])
    recording.state(1)
    update_log(recording, 1, *rows[1:], ack=acks[1], end=True)
    recording.state(1, "success")
    recording.add("FetchTask", {}, {"tasksVersion": "3"}, outcome="empty")
    return recording


def exchange(at_s: float, method: str, request: bytes = b"", *, runner: str = "r1", status: int = 200) -> Exchange:
    at_us = round(at_s * SECOND)
    return Exchange(runner, RPC + method, at_us, at_us, request, status, b"", "")


def ended(*, no_more: bool = True) -> list[Exchange]:
    """The last exchanges of a task."""
    log = pb.UpdateLogRequest(task_id=1, no_more=no_more).SerializeToString()
    state = pb.UpdateTaskRequest(state=pb.TaskState(id=1, result=pb.RESULT_SUCCESS)).SerializeToString()
    return [exchange(4, "UpdateLog", log), exchange(5, "UpdateTask", state)]


def unanswered(at_s: float) -> Exchange:
    """A last report that nobody answers."""
    return replace(ended()[1], began_us=round(at_s * SECOND), ended_us=round(at_s * SECOND), status=0, error="refused")


def execution(**changes: Any) -> Execution:
    printed = ["j0 row 0", "the secret is open-sesame, keep it"]
    fields = {"runner": "r1", "task": 1, "run": 1, "job": "j0", "attempt": "1", "started_us": SECOND}
    return Execution(**{**fields, "ended_us": 4 * SECOND, "result": Result.SUCCESS, "printed": printed, **changes})


def sights(*statuses: str) -> list[Sight]:
    return [Sight(place * SECOND, 1, "1", "j0", status) for place, status in enumerate(statuses)]


def healthy(**changes: Any) -> History:
    polls = [exchange(12 + 4.5 * number, "FetchTask") for number in range(20)]
    fields: dict[str, Any] = {
        "calls": session().records,
        "counted": 6,
        "wire": [*ended(), *polls],
        "executions": [execution()],
        "sights": sights("blocked", "waiting", "running", "success"),
        "logs": [StoredLog(1, "1", "j0", ROWS)],
        "capacity": {"r1": 1},
        "secrets": SECRETS,
        "healed_us": 10 * SECOND,
        "quiet": Quiet(start_us=12 * SECOND, end_us=100 * SECOND, runners=("r1",), asyncio_tasks=(9, 9)),
    }
    return History(**{**fields, **changes})


def quiet(**changes: Any) -> Quiet:
    usual = healthy().quiet
    assert usual is not None, "made above"
    return replace(usual, **changes)


def test_a_healthy_history_has_no_problems() -> None:
    assert problems_of(healthy()) == []


def added(recording: Recording, act: Callable[[Recording], object]) -> list[Any]:
    act(recording)
    return recording.records


def with_final(result: str) -> Callable[[Recording], None]:
    return lambda recording: recording.state(1, "success", answer=result)


BROKEN: dict[str, tuple[str, dict[str, Any]]] = {
    "a row that is not stored": ("stored-rows", {"logs": [StoredLog(1, "1", "j0", ROWS[:1])]}),
    "a row that is stored twice": ("stored-rows", {"logs": [StoredLog(1, "1", "j0", (ROWS[0], *ROWS))]}),
    "rows in another order": ("stored-rows", {"logs": [StoredLog(1, "1", "j0", ROWS[::-1])]}),
    "a row sent with another text": (
        "sent-rows",
        {"calls": added(session(), lambda one: update_log(one, 0, "other", ack=2)), "counted": 7},
    ),
    "a printed row that was never sent": (
        "printed-rows",
        {"executions": [execution(printed=["j0 row 0", "lost", "the secret is open-sesame, keep it"])]},
    ),
    "an ack that falls": ("acks", {"calls": session(acks=(2, 1)).records}),
    "a secret in a report": ("secrets", {"sent": [b"..open-sesame.."]}),
    "a secret on a page": ("secrets", {"pages": ["<b>open-sesame</b>"]}),
    "a secret in a stored row": ("secrets", {"logs": [StoredLog(1, "1", "j0", ("open-sesame", ROWS[1]))]}),
    "a job that comes back": ("transitions", {"sights": sights("running", "success", "running", "success")}),
    "a claim that is taken back": ("transitions", {"sights": sights("running", "waiting", "success")}),
    "a status that is none": ("transitions", {"sights": sights("sleeping", "success")}),
    "another result after the end": (
        "reported-results",
        {"calls": added(session(), with_final("failure")), "counted": 7},
    ),
    "a page that shows another result": ("results-shown", {"sights": sights("running", "failure")}),
    "a job that runs as two tasks": (
        "one-task-at-once",
        {
            "executions": [execution(), execution(task=2, runner="r2", started_us=2 * SECOND)],
            "capacity": {"r1": 1, "r2": 1},
        },
    ),
    "a task that runs twice": (
        "one-task-at-once",
        {"executions": [execution(), execution(started_us=5 * SECOND, ended_us=6 * SECOND)]},
    ),
    "more jobs than slots": (
        "capacity",
        {"executions": [execution(), execution(task=2, job="j1", started_us=2 * SECOND)]},
    ),
    "a version that falls": (
        "versions",
        {"calls": added(session(), lambda one: one.fetch(version=3)), "counted": 7},
    ),
    "a call that was not counted": ("counters", {"counted": 5}),
    "rows that were left out": (
        "audit",
        {"calls": added(session(), lambda one: update_log(one, 9, "late", ack=2)), "counted": 7},
    ),
    "a result before the log's end": ("log-before-result", {"wire": [*ended()[1:], *healthy().wire[2:]]}),
    "a result though the log goes on": ("log-before-result", {"wire": [*ended(no_more=False), *healthy().wire[2:]]}),
    "a result that is told once": ("results-retried", {"wire": [unanswered(5), *healthy().wire[2:]]}),
    "a daemon that breaks down": ("daemons", {"endings": [Ending(SECOND, "r1", "failed")]}),
    "a daemon that leaves unasked": ("daemons", {"endings": [Ending(SECOND, "r1", "ok")]}),
    "a run that does not end": ("all-ended", {"quiet": quiet(unfinished_runs=(1,))}),
    "a runner that does not come back": ("recovery", {"quiet": quiet(runners=("r1", "r2"))}),
    "a runner that falls asleep": ("idle-rate", {"wire": healthy().wire[:10]}),
    "a runner that polls without end": (
        "idle-rate",
        {"wire": [*healthy().wire, *(exchange(12 + number, "FetchTask") for number in range(88))]},
    ),
    "a report in the calm": ("idle-rate", {"wire": [*healthy().wire, exchange(50, "UpdateLog")]}),
    "a failure in the calm": ("idle-rate", {"wire": [*healthy().wire, exchange(50, "FetchTask", status=500)]}),
    "a queue that is not empty": ("nothing-left", {"quiet": quiet(figures={"rows not stored": 3})}),
    "tasks of the loop that stay": ("nothing-left", {"quiet": quiet(asyncio_tasks=(9, 12))}),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_history_is_found(what: str) -> None:
    check, changes = BROKEN[what]
    assert check in {problem.check for problem in problems_of(healthy(**changes))}


def test_every_checker_has_a_broken_history() -> None:
    names = {check.__name__.removeprefix("check_").replace("_", "-") for check in (*SAFETY, *LIVENESS)}
    assert names == {check for check, _ in BROKEN.values()}


def test_a_rerun_excuses_a_job_that_comes_back() -> None:
    history = healthy(
        sights=sights("running", "success", "running", "success"), deeds=[Deed(round(1.5 * SECOND), "rerun", run=1)]
    )
    assert "transitions" not in {problem.check for problem in problems_of(history)}


def test_a_daemon_that_dies_is_excused_for_telling_a_result_once() -> None:
    changes = {"wire": [unanswered(5), *healthy().wire[2:]], "deeds": [Deed(6 * SECOND, "killed", runner="r1")]}
    history = healthy(endings=[Ending(8 * SECOND, "r1", "killed")], **changes)
    assert not {"results-retried", "daemons"} & {problem.check for problem in problems_of(history)}


def test_a_story_tells_what_a_problem_is_about() -> None:
    told = story(healthy(), Problem("x", "y", tasks=frozenset({1}), runs=frozenset({1})))
    assert "r1 executes task 1: j0 of run 1" in told
    assert "UpdateLog rows 1+1 end -> ack 2" in told
    assert "the page shows j0 of run 1 as success" in told


def test_a_schedule_depends_on_its_seed_alone() -> None:
    assert draw(7) == draw(7)
    assert draw(7) != draw(8)
    assert str(draw(7)).startswith("seed 7: ")
