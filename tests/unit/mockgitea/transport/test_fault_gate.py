import asyncio

import pytest

from mockgitea.clock import MovableClock
from mockgitea.core.calls import Method, Outcome
from mockgitea.core.errors import NotFound
from mockgitea.core.faults import Fault, FaultKind, Stage
from mockgitea.core.journal import Entry
from mockgitea.transport.dialect import WireError
from mockgitea.transport.fault_gate import FaultGate


def entry(method: Method = Method.FETCH_TASK) -> Entry:
    made = Entry(1, 0, 0.0)
    made.method = method
    return made


def hold(name: str = "hold") -> Fault:
    return Fault(name=name, kind=FaultKind.HOLD)


def test_pass_through_without_a_fitting_fault_returns_at_once() -> None:
    gate = FaultGate(MovableClock())
    gate.add(Fault(name="f", kind=FaultKind.REFUSE, method="Ping"))
    untouched = entry()
    asyncio.run(gate.pass_through(untouched, Stage.BEFORE))
    assert untouched.fault == ""


def test_a_refusal_names_the_fault_and_counts_as_refused() -> None:
    gate = FaultGate(MovableClock())
    gate.add(Fault(name="down", kind=FaultKind.REFUSE))
    with pytest.raises(WireError, match="'down'") as caught:
        asyncio.run(gate.pass_through(entry(), Stage.BEFORE))
    assert caught.value.outcome is Outcome.REFUSED


def test_a_delay_waits_on_the_injected_clock() -> None:
    async def scenario() -> None:
        clock = MovableClock("manual", start_us=0)
        gate = FaultGate(clock)
        gate.add(Fault(name="slow", kind=FaultKind.DELAY, delay_s=30.0))
        waiting = asyncio.ensure_future(gate.pass_through(entry(), Stage.BEFORE))
        await asyncio.sleep(0)
        clock.advance(29.0)
        await asyncio.sleep(0)
        assert not waiting.done()
        clock.advance(1.0)
        await waiting

    asyncio.run(scenario())


@pytest.mark.parametrize("verb", ["release", "remove", "reset"])
def test_held_calls_go_on_when_the_fault_is_released_removed_or_reset(verb: str) -> None:
    async def scenario() -> None:
        gate = FaultGate(MovableClock())
        gate.add(hold())
        held = [asyncio.ensure_future(gate.pass_through(entry(), Stage.BEFORE)) for _ in range(3)]
        await asyncio.sleep(0)
        assert not any(one.done() for one in held)
        if verb == "reset":
            gate.reset()
        else:
            getattr(gate, verb)("hold")
        await asyncio.gather(*held)
        assert gate.is_active is (verb == "release")

    asyncio.run(scenario())


def test_a_released_hold_holds_later_calls_again() -> None:
    async def scenario() -> None:
        gate = FaultGate(MovableClock())
        gate.add(hold())
        gate.release("hold")
        later = asyncio.ensure_future(gate.pass_through(entry(), Stage.BEFORE))
        await asyncio.sleep(0)
        assert not later.done()
        gate.reset()
        await later

    asyncio.run(scenario())


def test_release_and_remove_of_an_unknown_fault_are_not_found() -> None:
    gate = FaultGate(MovableClock())
    for verb in (gate.release, gate.remove):
        with pytest.raises(NotFound):
            verb("nobody")


def test_list_shows_hits() -> None:
    gate = FaultGate(MovableClock())
    gate.add(Fault(name="down", kind=FaultKind.REFUSE, times=2))
    with pytest.raises(WireError):
        asyncio.run(gate.pass_through(entry(), Stage.BEFORE))
    assert [(state.fault.name, state.hits, state.left) for state in gate.list()] == [("down", 1, 1)]
