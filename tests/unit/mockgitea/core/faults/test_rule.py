from typing import Any

import pytest

from actionswire.codes import Code
from mockgitea.core.errors import InvalidInput
from mockgitea.core.faults import KINDS, Fault, FaultKind, Stage, Transport, parameters_of, table

NEEDED: dict[FaultKind, dict[str, Any]] = {
    FaultKind.DELAY: {"delay_s": 1.0},
    FaultKind.WRONG_ACK: {"rows": 1},
    FaultKind.CLOCK_SKEW: {"skew_s": 5.0},
}


@pytest.mark.parametrize("kind", [*FaultKind])
def test_a_rule_of_every_kind_gets_its_stage_and_its_usual_values(kind: FaultKind) -> None:
    fault = Fault(name="f", kind=kind, **NEEDED.get(kind, {}))
    assert fault.stage is KINDS[kind].stages[0]
    assert fault.transports == KINDS[kind].transports
    for name, param in parameters_of(kind).items():
        if param.default is not None and name not in NEEDED.get(kind, {}):
            assert getattr(fault, name) == param.default
    assert fault.shown()["kind"] == kind


def test_plain_words_become_members() -> None:
    fault = Fault(name="f", kind="refuse", stage="after", code="internal", transport="grpc")  # type: ignore[arg-type]
    assert (fault.kind, fault.stage, fault.code) == (FaultKind.REFUSE, Stage.AFTER, Code.INTERNAL)
    assert fault.transports == (Transport.GRPC,)


@pytest.mark.parametrize("kind", [kind for kind, facts in KINDS.items() if not facts.on_grpc])
def test_a_kind_that_cannot_act_on_grpc_is_refused_with_the_reason(kind: FaultKind) -> None:
    with pytest.raises(InvalidInput, match="sockets") as caught:
        Fault(name="f", kind=kind, transport=Transport.GRPC, **NEEDED.get(kind, {}))
    assert caught.value.field == "transport"


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("name", {"name": ""}),
        ("name", {"name": "a/b"}),
        ("kind", {"kind": "explode"}),
        ("stage", {"stage": "during"}),
        ("stage", {"kind": FaultKind.LOST_CLAIM, "stage": Stage.AFTER}),
        ("method", {"method": "Nope"}),
        ("method", {"kind": FaultKind.LOST_CLAIM, "method": "Ping"}),
        ("times", {"times": 0}),
        ("every", {"every": 0}),
        ("probability", {"probability": 0.0}),
        ("probability", {"probability": 1.1}),
        ("until_s", {"from_s": 5.0, "until_s": 5.0}),
        ("period_s", {"open_s": 1.0}),
        ("open_s", {"period_s": 1.0, "open_s": 2.0}),
        ("ttl_s", {"ttl_s": 0.0}),
        ("delay_s", {"kind": FaultKind.DELAY}),
        ("delay_s", {"kind": FaultKind.DELAY, "delay_s": float("nan")}),
        ("delay_s", {"kind": FaultKind.DELAY, "delay_s": 1e9}),
        ("delay_s", {"kind": FaultKind.HOLD, "delay_s": 1.0}),
        ("max_s", {"kind": FaultKind.DELAY, "distribution": "uniform", "min_s": 1.0}),
        ("max_s", {"kind": FaultKind.DELAY, "distribution": "uniform", "min_s": 2.0, "max_s": 1.0}),
        ("spread_s", {"kind": FaultKind.DELAY, "distribution": "normal", "delay_s": 1.0}),
        ("shape", {"kind": FaultKind.DELAY, "distribution": "lognormal", "delay_s": 1.0}),
        ("min_s", {"kind": FaultKind.DELAY, "distribution": "pareto", "shape": 1.0, "min_s": 0.0}),
        ("distribution", {"kind": FaultKind.DELAY, "distribution": "cauchy"}),
        ("status", {"status": 199}),
        ("status", {"status": 503, "code": Code.INTERNAL}),
        ("status", {"status": 503, "transport": Transport.GRPC}),
        ("body", {"body": "html"}),
        ("content_type", {"status": 503, "content_type": "a\r\nb"}),
        ("message", {"message": "a\nb"}),
        ("rows", {"kind": FaultKind.WRONG_ACK}),
        ("skew_s", {"kind": FaultKind.CLOCK_SKEW, "skew_s": 0.0}),
        ("how", {"kind": FaultKind.LOSE_ANSWER, "how": "politely"}),
    ],
)
def test_a_wrong_rule_names_its_field(field: str, values: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        Fault(**{"name": "f", "kind": FaultKind.REFUSE, **values})
    assert caught.value.field == field
    assert caught.value.message.startswith(f"{field}:")


def test_every_field_is_explained() -> None:
    for name, (_, param) in table().items():
        assert param.help, name
        assert not name.endswith("_s") or "second" in param.help.lower(), name
