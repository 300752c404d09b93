import asyncio
import json
from typing import Any

import pytest

from asgicall import Response, call, http_scope
from mockgitea.clock import MovableClock
from mockgitea.core.calls import Method, Outcome
from mockgitea.core.counters import Counters
from mockgitea.core.faults import Fault, FaultKind, Stage
from mockgitea.core.journal import Entry, Journal
from mockgitea.transport.admission import PATH_LENGTH_MAX, Admission
from mockgitea.transport.asgi import respond
from mockgitea.transport.fault_gate import FaultGate

RPC = "/api/actions/runner.v1.RunnerService/FetchTask"


class Port:
    """An admission over two small applications."""

    def __init__(self) -> None:
        self.clock = MovableClock("manual", start_us=7)
        self.journal = Journal(entries_max=5, bytes_max=1000)
        self.counters = Counters()
        self.faults = FaultGate(self.clock)
        self.status = 200
        self.error: BaseException | None = None
        self.seen: list[str] = []
        self.app = Admission(
            rpc=self._rpc, web=self._web, journal=self.journal, counters=self.counters, faults=self.faults,
            clock=self.clock, now_s=lambda: 1.0,
        )  # fmt: skip

    async def _rpc(self, scope: Any, receive: Any, send: Any, entry: Entry) -> None:
        self.seen.append("rpc")
        entry.method = Method.FETCH_TASK
        if self.error is not None:
            raise self.error
        await respond(send, 200, [], b"")
        entry.outcome = Outcome.EMPTY

    async def _web(self, scope: Any, receive: Any, send: Any) -> None:
        self.seen.append("web")
        if self.error is not None:
            raise self.error
        await respond(send, self.status, [], b"body")

    def get(self, path: str) -> Response:
        return asyncio.run(call(self.app, http_scope("GET", path)))

    @property
    def last(self) -> Entry:
        return self.journal.entries()[-1]


@pytest.mark.parametrize(
    ("path", "app", "method", "outcome"),
    [
        (RPC, "rpc", Method.FETCH_TASK, Outcome.EMPTY),
        ("/api/actions/", "rpc", Method.FETCH_TASK, Outcome.EMPTY),
        ("/api/v1/version", "web", Method.REST, Outcome.OK),
        ("/api/actions_pipeline/x", "web", Method.REST, Outcome.OK),
        ("/demo/demo/actions/runs/1", "web", Method.PAGE, Outcome.OK),
    ],
)
def test_calls_are_sent_by_prefix_and_counted(path: str, app: str, method: Method, outcome: Outcome) -> None:
    port = Port()
    assert port.get(path).status == 200
    assert port.seen == [app]
    assert (port.last.method, port.last.outcome, port.last.path, port.last.verb) == (method, outcome, path, "GET")
    assert port.last.at_us == 7
    assert port.counters.calls == {(method, outcome): 1}


def test_a_web_answer_counts_by_its_status() -> None:
    port = Port()
    port.status = 404
    port.get("/nope")
    assert (port.last.outcome, port.last.status) == (Outcome.NOT_FOUND, 404)


def test_a_crash_of_the_web_application_is_a_short_500_and_counts_as_internal() -> None:
    port = Port()
    port.error = KeyError("secret")
    response = port.get("/api/v1/x")
    assert response.status == 500
    assert b"secret" not in response.body
    assert port.last.outcome is Outcome.INTERNAL
    assert port.journal.in_progress == 0


@pytest.mark.parametrize("path", [RPC, "/page"])
def test_a_cancelled_call_closes_its_entry_as_abandoned(path: str) -> None:
    port = Port()
    port.error = asyncio.CancelledError()
    with pytest.raises(asyncio.CancelledError):
        port.get(path)
    assert port.last.outcome is Outcome.ABANDONED
    assert port.counters.total == 1


def test_a_call_is_in_the_journal_while_a_fault_holds_it() -> None:
    async def scenario() -> None:
        port = Port()
        port.faults.add(Fault(name="hold", kind=FaultKind.HOLD))
        held = asyncio.ensure_future(call(port.app, http_scope("GET", "/page")))
        await asyncio.sleep(0)
        assert port.last.outcome is Outcome.OPEN
        assert port.journal.in_progress == 1
        assert port.seen == []
        port.faults.release("hold")
        assert (await held).status == 200
        assert (port.last.outcome, port.last.fault) == (Outcome.OK, "hold")

    asyncio.run(scenario())


@pytest.mark.parametrize(("stage", "seen"), [(Stage.BEFORE, []), (Stage.AFTER, ["web"])])
def test_a_refusing_fault_answers_rest_in_its_own_shape(stage: Stage, seen: list[str]) -> None:
    port = Port()
    port.faults.add(Fault(name="down", kind=FaultKind.REFUSE, method="rest", stage=stage))
    response = port.get("/api/v1/version")
    assert (response.status, json.loads(response.body)) == (503, {"message": "refused by fault 'down'"})
    assert port.seen == seen
    assert port.last.outcome is Outcome.REFUSED
    assert port.counters.calls == {(Method.REST, Outcome.REFUSED): 1}


def test_a_long_path_is_cut_in_the_journal() -> None:
    port = Port()
    port.get("/" + "x" * 5000)
    assert len(port.last.path) == PATH_LENGTH_MAX


def test_other_scopes_are_ignored() -> None:
    port = Port()
    response = asyncio.run(call(port.app, {"type": "websocket", "path": "/"}))
    assert response.status == 0
    assert port.journal.opened_total == 0
