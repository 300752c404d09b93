import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from actionswire.codes import Code
from asgicall import Response, call, http_scope
from mockgitea.clock import MovableClock
from mockgitea.core.calls import Method, Outcome
from mockgitea.core.downtime import DownKind, Downtime
from mockgitea.core.errors import InvalidInput, NotFound
from mockgitea.core.faults import Fault, FaultKind, Stage
from mockgitea.core.journal import Entry
from mockgitea.transport.asgi import respond
from mockgitea.transport.connections import PEER_KEY
from mockgitea.transport.dialect import WireError
from mockgitea.transport.fault_gate import FaultGate

PING = "/api/actions/ping.v1.PingService/Ping"


class Peer:
    """Remembers what faults did to the connection."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def close(self) -> None:
        self.seen.append("close")

    def reset(self) -> None:
        self.seen.append("reset")

    def write(self, data: bytes) -> None:
        self.seen.append(data)

    def forget_date(self) -> None:
        self.seen.append("date")


class Door:
    """A gate in front of an application that answers with eight bytes."""

    def __init__(self) -> None:
        self.clock = MovableClock("manual", start_us=0)
        self.gate = FaultGate(self.clock)
        self.peer = Peer()
        self.entry = Entry(1, 0, 0.0)
        self.served = 0

    async def app(self, scope: Any, receive: Any, send: Any, entry: Entry) -> None:
        self.served += 1
        await self.gate.after_work(entry)
        entry.status = 200
        await respond(send, 200, [(b"content-length", b"8")], b"abcdefgh")
        entry.outcome = Outcome.OK

    async def send(self, path: str = PING, *pieces: bytes, **how: Any) -> Response:
        self.entry = entry = Entry(1, 0, 0.0)

        async def through(scope: Any, receive: Any, send: Any) -> None:
            await self.gate.serve(self.app, scope, receive, send, entry)

        return await call(through, {**http_scope("POST", path), PEER_KEY: self.peer}, *pieces, **how)


def at_a_door(body: Callable[[Door], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(20):
            await body(Door())

    asyncio.run(main())


async def turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_a_call_that_no_rule_is_about_passes() -> None:
    async def body(door: Door) -> None:
        door.gate.add(Fault(name="f", kind=FaultKind.REFUSE, method="FetchTask"))
        assert (await door.send()).body == b"abcdefgh"
        assert (door.entry.fault, door.entry.outcome) == ("", Outcome.OK)

    at_a_door(body)


def test_a_refusal_answers_in_place_of_the_service() -> None:
    async def body(door: Door) -> None:
        door.gate.add(Fault(name="down", kind=FaultKind.REFUSE, times=1))
        assert (await door.send()).status == 503
        assert (door.entry.outcome, door.entry.status, door.entry.code) == (Outcome.REFUSED, 503, Code.UNAVAILABLE)
        assert (door.entry.fault, door.served) == ("down", 0)
        assert [(state.fault.name, state.hits, state.left) for state in door.gate.list()] == [("down", 1, 0)]
        assert (await door.send()).status == 200

    at_a_door(body)


def test_a_refusal_after_the_work_replaces_the_answer() -> None:
    async def body(door: Door) -> None:
        door.gate.add(Fault(name="down", kind=FaultKind.REFUSE, stage=Stage.AFTER, code=Code.INTERNAL))
        assert (await door.send()).status == 500
        assert (door.served, door.entry.outcome, door.entry.code) == (1, Outcome.REFUSED, Code.INTERNAL)

    at_a_door(body)


@pytest.mark.parametrize("stage", [*Stage])
def test_a_delay_waits_on_the_injected_clock(stage: Stage) -> None:
    async def body(door: Door) -> None:
        door.gate.add(Fault(name="slow", kind=FaultKind.DELAY, delay_s=30.0, stage=stage))
        waiting = asyncio.ensure_future(door.send())
        await turns()
        door.clock.advance(29.0)
        await turns()
        assert not waiting.done()
        assert door.served == (stage is Stage.AFTER)
        door.clock.advance(1.0)
        assert (await waiting).status == 200

    at_a_door(body)


@pytest.mark.parametrize("kind", [FaultKind.HOLD, FaultKind.HANG, FaultKind.DELAY])
@pytest.mark.parametrize("verb", ["release", "remove", "reset"])
def test_waiting_calls_go_on_when_the_rule_lets_go(verb: str, kind: FaultKind) -> None:
    async def body(door: Door) -> None:
        door.gate.add(Fault(name="f", kind=kind, delay_s=3.0 if kind is FaultKind.DELAY else None))
        held = [asyncio.ensure_future(door.send()) for _ in range(3)]
        await turns()
        assert not any(one.done() for one in held)
        if verb == "reset":
            door.gate.reset()
        elif verb == "release" and kind is FaultKind.HANG:
            with pytest.raises(InvalidInput, match="remove it"):
                door.gate.release("f")
            door.gate.remove("f")
        else:
            getattr(door.gate, verb)("f")
        assert [one.status for one in await asyncio.gather(*held)] == [200] * 3
        assert door.gate.is_active is (verb == "release" and kind is not FaultKind.HANG)

    at_a_door(body)


def test_release_and_remove_of_an_unknown_rule_are_not_found() -> None:
    gate = FaultGate(MovableClock())
    for verb in (gate.release, gate.remove, gate.remove_downtime):
        with pytest.raises(NotFound):
            verb("nobody")


@pytest.mark.parametrize(("stage", "served"), [(Stage.BEFORE, 0), (Stage.AFTER, 1)])
def test_a_held_call_ends_when_its_caller_goes(stage: Stage, served: int) -> None:
    async def body(door: Door) -> None:
        door.gate.add(Fault(name="f", kind=FaultKind.HOLD, stage=stage))
        await door.send(hang_up=True)
        assert (door.served, door.entry.outcome) == (served, Outcome.ABANDONED)

    at_a_door(body)


def test_the_request_read_while_waiting_reaches_the_application() -> None:
    async def body(door: Door) -> None:
        seen: list[bytes] = []

        async def echo(scope: Any, receive: Any, send: Any, entry: Entry) -> None:
            event = {"more_body": True}
            while event.get("more_body"):
                event = await receive()
                seen.append(event["body"])
            await respond(send, 200, [], b"")

        door.app = echo  # type: ignore[method-assign]
        door.gate.add(Fault(name="f", kind=FaultKind.HOLD))
        waiting = asyncio.ensure_future(door.send(PING, b"a", b"b", b"c"))
        await turns()
        door.gate.release("f")
        await waiting
        assert seen == [b"a", b"b", b"c"]

    at_a_door(body)


@pytest.mark.parametrize(
    ("fields", "status", "body", "seen"),
    [
        ({"kind": FaultKind.CLOSE}, 0, b"", ["close"]),
        ({"kind": FaultKind.RESET, "stage": Stage.AFTER}, 0, b"", ["reset"]),
        ({"kind": FaultKind.LOSE_ANSWER, "how": "reset"}, 0, b"", ["reset"]),
        ({"kind": FaultKind.PARTIAL_BODY, "kept_bytes": 3}, 200, b"abc", ["close"]),
        ({"kind": FaultKind.PARTIAL_BODY}, 200, b"abcd", ["close"]),
        ({"kind": FaultKind.PARTIAL_BODY, "kept_bytes": 99}, 200, b"abcdefg", ["close"]),
        ({"kind": FaultKind.TRUNCATE, "kept_bytes": 0}, 200, b"", []),
        ({"kind": FaultKind.ANSWER_TWICE}, 200, b"abcdefgh", [b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nabcdefgh"]),
    ],
)
def test_what_is_left_of_an_answer(fields: dict[str, Any], status: int, body: bytes, seen: list[Any]) -> None:
    async def main(door: Door) -> None:
        door.gate.add(Fault(name="f", **fields))
        response = await door.send()
        assert (response.status, response.body, door.peer.seen) == (status, body, seen)
        is_cut = seen and isinstance(seen[0], str)
        assert door.entry.outcome is (Outcome.DROPPED if is_cut else Outcome.OK)

    at_a_door(main)


def test_an_answer_without_bytes_survives_every_change() -> None:
    async def body(door: Door) -> None:
        async def empty(scope: Any, receive: Any, send: Any, entry: Entry) -> None:
            await respond(send, 200, [], b"")

        door.app = empty  # type: ignore[method-assign]
        for number, kind in enumerate(
            (FaultKind.TRUNCATE, FaultKind.CORRUPT, FaultKind.STALE_ANSWER, FaultKind.SLOW_BODY)
        ):
            door.gate.add(Fault(name=str(number), kind=kind))
        assert (await door.send()).status == 200

    at_a_door(body)


def test_several_rules_leave_all_their_names() -> None:
    async def body(door: Door) -> None:
        door.gate.add(Fault(name="a", kind=FaultKind.CORRUPT))
        door.gate.add(Fault(name="b", kind=FaultKind.LOSE_ANSWER))
        await door.send()
        assert door.entry.fault == "a, b"

    at_a_door(body)


def test_rules_that_need_a_server_are_refused_without_one() -> None:
    gate = FaultGate(MovableClock())
    for field, values in (
        ("kind", {"kind": FaultKind.RESTART}),
        ("kind", {"kind": FaultKind.RUNNER_DELETED}),
        ("runner", {"kind": FaultKind.HOLD, "runner": "r1"}),
        ("transport", {"kind": FaultKind.HOLD, "transport": "grpc"}),
    ):
        with pytest.raises(InvalidInput) as caught:
            gate.add(Fault(name="f", **values))  # type: ignore[arg-type]
        assert caught.value.field == field
    assert not gate.is_active


@pytest.mark.parametrize(
    ("kind", "status", "outcome", "seen"),
    [
        (DownKind.PLANNED, 503, Outcome.REFUSED, []),
        (DownKind.REFUSED, 0, Outcome.DROPPED, ["reset"]),
        (DownKind.BLACK_HOLE, 0, Outcome.DROPPED, ["reset"]),
    ],
)
def test_downtime_keeps_calls_from_the_application(
    kind: DownKind, status: int, outcome: Outcome, seen: list[str]
) -> None:
    async def body(door: Door) -> None:
        door.gate.add_downtime(Downtime(name="d", kind=kind, duration_s=60.0))
        waiting = asyncio.ensure_future(door.send())
        await turns()
        door.clock.advance(60.0)
        response = await waiting
        assert (response.status, door.entry.outcome, door.entry.fault) == (status, outcome, "d")
        assert (door.served, door.peer.seen) == (0, seen)
        assert (await door.send()).status == 200

    at_a_door(body)


def test_over_grpc_refusals_and_downtime_are_codes() -> None:
    async def body(door: Door) -> None:
        async def stays() -> None:
            await asyncio.Event().wait()

        entry = Entry(1, 0, 0.0)
        entry.method = Method.PING
        door.gate.add(Fault(name="f", kind=FaultKind.REFUSE, code=Code.ABORTED, times=1))
        with pytest.raises(WireError) as caught:
            await door.gate.enter(entry, (), b"", stays)
        assert caught.value.code is Code.ABORTED
        door.gate.leave(entry)
        door.gate.add_downtime(Downtime(name="d", kind=DownKind.REFUSED, duration_s=60.0))
        with pytest.raises(WireError) as caught:
            await door.gate.enter(entry, (), b"", stays)
        assert (caught.value.code, caught.value.outcome) == (Code.UNAVAILABLE, Outcome.REFUSED)

    at_a_door(body)
