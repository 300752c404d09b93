import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockgitea.core.calls import Method
from mockgitea.core.errors import Conflict, LimitExceeded, NotFound
from mockgitea.core.faults import PASS, RULES_MAX, Call, Fault, FaultKind, FaultRules, Stage, Transport

S = 1_000_000
RNG = random.Random(1)


def refuse(name: str = "f", **extra: Any) -> Fault:
    return Fault(name=name, kind=FaultKind.REFUSE, **extra)


def call(method: Method = Method.PING, **facts: Any) -> Call:
    return Call(method=method, **facts)


def rules_of(*faults: Fault) -> FaultRules:
    rules = FaultRules()
    for fault in faults:
        rules.add(fault, now_us=0)
    return rules


def hits(rules: FaultRules, one: Call, stage: Stage = Stage.BEFORE, now_us: int = 0, rng: Any = RNG) -> list[str]:
    return [hit.fault.name for hit in rules.decide(one, stage, now_us=now_us, rng=rng)]


def test_decide_without_rules_passes() -> None:
    rules = FaultRules()
    assert not rules.is_active
    assert rules.decide(call(), Stage.BEFORE, now_us=0, rng=RNG) is PASS


WHO = [
    ({}, {}, True),
    ({"method": "FetchTask"}, {"method": Method.FETCH_TASK}, True),
    ({"method": "FetchTask"}, {"method": Method.PING}, False),
    ({"runner": "u1"}, {"runner_uuid": "u1"}, True),
    ({"runner": "r1"}, {"runner_uuid": "u1", "runner_name": "r1"}, True),
    ({"runner": "r2"}, {"runner_uuid": "u1", "runner_name": "r1"}, False),
    ({"runner": "r2"}, {}, False),
    ({"label": "arm"}, {"labels": ("x", "arm")}, True),
    ({"label": "arm"}, {"labels": ("ARM",)}, False),
    ({"task": 3}, {"task_id": 3}, True),
    ({"task": 3}, {"task_id": 0}, False),
    ({"header": "X-Case"}, {"headers": [(b"x-case", b"1")]}, True),
    ({"header": "X-Case: 1"}, {"headers": [(b"x-case", b"1")]}, True),
    ({"header": "X-Case: 2"}, {"headers": [(b"x-case", b"1")]}, False),
    ({"transport": "grpc"}, {"transport": Transport.GRPC}, True),
    ({"transport": "http"}, {"transport": Transport.GRPC}, False),
    ({"status": 502}, {"transport": Transport.GRPC}, False),
]


@pytest.mark.parametrize(("conditions", "facts", "fits"), WHO)
def test_decide_looks_at_who_calls(conditions: dict[str, Any], facts: dict[str, Any], fits: bool) -> None:
    one = call(**{"method": Method.PING, **facts})
    assert bool(hits(rules_of(refuse(**conditions)), one)) is fits


def test_decide_of_a_kind_for_one_method_leaves_the_others_alone() -> None:
    rules = rules_of(Fault(name="f", kind=FaultKind.WRONG_ACK, rows=1))
    assert hits(rules, call(Method.UPDATE_TASK), Stage.AFTER) == []
    assert hits(rules, call(Method.UPDATE_LOG), Stage.AFTER) == ["f"]


WHEN = [
    ({"times": 2}, [1, 1, 0, 0, 0, 0, 0, 0]),
    ({"skip": 3}, [0, 0, 0, 1, 1, 1, 1, 1]),
    ({"every": 3}, [1, 0, 0, 1, 0, 0, 1, 0]),
    ({"skip": 1, "every": 2, "times": 2}, [0, 1, 0, 1, 0, 0, 0, 0]),
    ({"from_s": 2, "until_s": 5}, [0, 0, 1, 1, 1, 0, 0, 0]),
    ({"from_s": 2, "skip": 1, "times": 1}, [0, 0, 0, 1, 0, 0, 0, 0]),
    ({"period_s": 3, "open_s": 1}, [1, 0, 0, 1, 0, 0, 1, 0]),
    ({"period_s": 3, "open_s": 2, "from_s": 1}, [0, 1, 1, 0, 1, 1, 0, 1]),
    ({"ttl_s": 3}, [1, 1, 1, 0, 0, 0, 0, 0]),
    ({"probability": 1.0}, [1] * 8),
]


@pytest.mark.parametrize(("conditions", "expected"), WHEN)
def test_decide_once_a_second_follows_the_conditions_of_time(conditions: dict[str, Any], expected: list[int]) -> None:
    rules = rules_of(refuse(**conditions))
    assert [len(hits(rules, call(), now_us=second * S)) for second in range(8)] == expected


def test_windows_are_half_open_to_the_microsecond() -> None:
    rules = rules_of(refuse(from_s=1, until_s=2))
    assert [len(hits(rules, call(), now_us=now)) for now in (S - 1, S, 2 * S - 1, 2 * S)] == [0, 1, 1, 0]


@given(seed=st.integers(), probability=st.floats(0.01, 1))
def test_chance_is_the_seeds(seed: int, probability: float) -> None:
    fault = refuse(probability=probability)
    rngs = random.Random(seed), random.Random(seed)
    one, other = ([len(hits(rules_of(fault), call(), rng=rng)) for _ in range(50)] for rng in rngs)
    assert one == other


def test_waiting_and_changing_rules_go_on_and_an_ending_one_is_the_last() -> None:
    rules = rules_of(
        Fault(name="late", kind=FaultKind.DELAY, delay_s=1), refuse("no"), Fault(name="never", kind=FaultKind.HOLD)
    )
    assert hits(rules, call()) == ["late", "no"]
    states = {state.fault.name: state.hits for state in rules.states()}
    assert states == {"late": 1, "no": 1, "never": 0}, "a rule that was not reached is not used up"


def test_decide_of_a_delay_has_it_drawn() -> None:
    rules = rules_of(Fault(name="late", kind=FaultKind.DELAY, delay_s=1.5))
    assert rules.decide(call(), Stage.BEFORE, now_us=0, rng=RNG)[0].delay_us == 1_500_000


def test_add_refuses_a_taken_name_and_too_many_rules() -> None:
    rules = rules_of(refuse("0"))
    with pytest.raises(Conflict, match="exists"):
        rules.add(refuse("0"))
    for number in range(1, RULES_MAX):
        rules.add(refuse(str(number)))
    with pytest.raises(LimitExceeded, match="faults"):
        rules.add(refuse("one too many"))


def test_a_name_is_free_again_when_its_rule_has_expired() -> None:
    rules = rules_of(refuse(ttl_s=1))
    rules.add(refuse(), now_us=S)
    assert [state.expires_us for state in rules.states(now_us=S)] == [None]


def test_expiry_remove_and_reset_make_calls_free_again() -> None:
    for end in (lambda rules: rules.expire(S), lambda rules: rules.remove("f"), lambda rules: rules.reset()):
        rules = rules_of(refuse(ttl_s=1, task=4))
        assert (rules.is_active, rules.asks_for_task) == (True, True)
        end(rules)
        assert (rules.is_active, rules.asks_for_task, rules.states()) == (False, False, ())
    with pytest.raises(NotFound, match="'f'"):
        rules.remove("f")


def test_repeats_is_the_longest_memory_that_a_rule_needs() -> None:
    stale = [Fault(name=str(back), kind=FaultKind.STALE_ANSWER, back=back) for back in (2, 5)]
    rules = rules_of(*stale)
    assert rules.repeats == 5
    rules.remove("5")
    assert rules.repeats == 2
