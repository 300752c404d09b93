"""Fault rules: which calls are refused, delayed, lost or lied to, decided by plain calls on values."""

from mockgitea.core.faults.kinds import KINDS, FaultKind, KindFacts, Stage, Transport
from mockgitea.core.faults.match import Call, fits
from mockgitea.core.faults.rule import (
    ANY_METHOD,
    DELAY_S_MAX,
    NAME_LENGTH_MAX,
    Fault,
    Param,
    parameters_of,
    table,
)
from mockgitea.core.faults.rules import PASS, RULES_MAX, FaultRules, FaultState, Hit, Verdict

__all__ = [
    "ANY_METHOD",
    "DELAY_S_MAX",
    "KINDS",
    "NAME_LENGTH_MAX",
    "PASS",
    "RULES_MAX",
    "Call",
    "Fault",
    "FaultKind",
    "FaultRules",
    "FaultState",
    "Hit",
    "KindFacts",
    "Param",
    "Stage",
    "Transport",
    "Verdict",
    "fits",
    "parameters_of",
    "table",
]
