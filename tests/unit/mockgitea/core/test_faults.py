import pytest

from actionswire.codes import Code
from mockgitea.core.errors import Conflict, InvalidInput, LimitExceeded, NotFound
from mockgitea.core.faults import RULES_MAX, Fault, FaultKind, FaultRules, Stage


def refuse(name: str = "f", **extra: object) -> Fault:
    return Fault(name=name, kind=FaultKind.REFUSE, **extra)  # type: ignore[arg-type]  # fields under test


def test_decide_without_rules_passes() -> None:
    rules = FaultRules()
    assert not rules.is_active
    assert rules.decide("Ping", Stage.BEFORE) is None


def test_decide_matches_method_and_stage() -> None:
    rules = FaultRules()
    fault = refuse(method="FetchTask", stage=Stage.AFTER)
    rules.add(fault)
    assert rules.decide("FetchTask", Stage.BEFORE) is None
    assert rules.decide("Ping", Stage.AFTER) is None
    assert rules.decide("FetchTask", Stage.AFTER) is fault


def test_decide_takes_the_first_rule_that_fits_and_uses_it_up() -> None:
    rules = FaultRules()
    first, second = refuse("a", times=1), refuse("b", code=Code.INTERNAL)
    rules.add(first)
    rules.add(second)
    assert rules.decide("Ping", Stage.BEFORE) is first
    assert rules.decide("Ping", Stage.BEFORE) is second
    assert [(state.fault.name, state.hits, state.left) for state in rules.states()] == [("a", 1, 0), ("b", 1, None)]


def test_add_refuses_a_taken_name_and_too_many_rules() -> None:
    rules = FaultRules()
    rules.add(refuse("0"))
    with pytest.raises(Conflict, match="exists"):
        rules.add(refuse("0"))
    for number in range(1, RULES_MAX):
        rules.add(refuse(str(number)))
    with pytest.raises(LimitExceeded, match="faults"):
        rules.add(refuse("one too many"))


def test_remove_of_the_last_rule_makes_calls_free_again() -> None:
    rules = FaultRules()
    rules.add(refuse())
    rules.remove("f")
    assert not rules.is_active
    with pytest.raises(NotFound, match="'f'"):
        rules.remove("f")


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("name", {"name": ""}),
        ("method", {"method": "Nope"}),
        ("times", {"times": 0}),
        ("delay_s", {"kind": FaultKind.DELAY}),
        ("delay_s", {"kind": FaultKind.DELAY, "delay_s": float("nan")}),
        ("delay_s", {"kind": FaultKind.HOLD, "delay_s": 1.0}),
    ],
)
def test_a_wrong_fault_names_its_field(field: str, values: dict[str, object]) -> None:
    with pytest.raises(InvalidInput) as caught:
        Fault(**{"name": "f", "kind": FaultKind.REFUSE, **values})  # type: ignore[arg-type]  # fields under test
    assert caught.value.field == field
    assert caught.value.message.startswith(f"{field}:")
