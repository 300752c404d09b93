"""The promise of docs/faults.md: every kind is proved from both sides, through a raw socket and by what is stored."""

import re
from pathlib import Path

import pytest

from mockgitea.core.faults import KINDS, FaultKind

CASES = Path(__file__).resolve().parents[4] / "conformance" / "faults"


@pytest.mark.parametrize("kind", [*FaultKind])
@pytest.mark.parametrize("side", ["peer", "leave"])
def test_every_kind_has_a_test_of_either_side(kind: FaultKind, side: str) -> None:
    names = [
        name for file in CASES.glob("test_*.py") for name in re.findall(r"^def (test_\w+)", file.read_text(), re.M)
    ]
    words = kind.value.replace("-", "_")
    assert any(f"_{words}_" in name and side in name for name in names), f"no test about {kind} names its {side}"


def test_every_kind_says_what_happens_and_where() -> None:
    assert set(KINDS) == set(FaultKind)
    for kind, facts in KINDS.items():
        assert facts.peer, kind
        assert facts.stored, kind
        assert facts.stages, kind
