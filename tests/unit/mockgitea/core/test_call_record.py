import pytest

from calls import NAMES, UUID, Recording
from mockgitea.core.call_record import CallRecord, introduced


def test_record_reads_every_field_of_a_view() -> None:
    recording = Recording()
    call = recording.fetch(4, 5, version=3)
    assert (call.number, call.method, call.runner, call.runner_uuid) == (1, "FetchTask", "r1", UUID)
    assert call.tasks == (4, 5)
    assert call.at_us == 1_767_225_601_000_000
    assert call.request == {"tasks_version": 3, "task_capacity": None}


def test_began_after_follows_the_order_of_calls_and_not_the_clock() -> None:
    recording = Recording()
    first = recording.fetch(closed_after=2)
    overlapping = recording.fetch()
    later = recording.fetch()
    assert not overlapping.began_after(first)
    assert later.began_after(first)


def test_open_call_is_over_for_nobody() -> None:
    recording = Recording()
    held = recording.fetch(outcome="open", duration_s=None, closed_after=0)
    assert held.is_open
    assert not recording.fetch().began_after(held)


def test_answer_touched_by_a_fault_is_not_certain() -> None:
    assert not Recording().fetch(1, fault="lost").is_answered
    assert not Recording().fetch(outcome="abandoned").is_answered
    assert Recording().fetch(1).is_answered


def test_refused_caller_is_known_by_what_it_claimed() -> None:
    call = Recording().fetch(runner_uuid="", outcome="unauthenticated", status=500)
    assert (call.runner, call.claimed_uuid) == ("", UUID)


@pytest.mark.parametrize(
    ("damage", "named"), [({"number": "x"}, "entry x"), ({"at": "noon"}, "entry 1"), ({"headers": None}, "")]
)
def test_view_that_is_no_entry_is_refused_with_its_field(damage: dict[str, object], named: str) -> None:
    recording = Recording()
    recording.fetch()
    if named:
        with pytest.raises(ValueError, match=named):
            CallRecord.from_view({**recording.views[0], **damage}, NAMES)
    with pytest.raises(ValueError, match="method: missing"):
        CallRecord.from_view({"number": 1}, NAMES)


def test_register_and_declare_introduce_a_runner() -> None:
    recording = Recording()
    answer = {"runner": {"id": "1", "uuid": "u", "name": "n"}}
    assert introduced(recording.add("Register", {}, answer)) == ("u", "n")
    assert introduced(recording.add("Declare", {}, answer)) == ("u", "n")
    assert introduced(recording.fetch(1)) == ("", "")
