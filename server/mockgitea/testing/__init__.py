"""Use the mock from tests: `MockGitea` and what its methods return and raise. Source: docs/testing.md."""

from mockgitea.core.audit import AuditReport, Finding, Rule
from mockgitea.core.call_checks import UnexpectedCalls
from mockgitea.core.call_match import CallMatcher, Difference
from mockgitea.core.call_record import CallRecord
from mockgitea.testing.faults import Faults, Gate
from mockgitea.testing.journal import JournalView
from mockgitea.testing.movable_clock import Clock
from mockgitea.testing.run import Run
from mockgitea.testing.runner import CallRefused, PlayedRunner, Runner
from mockgitea.testing.server import MockGitea
from mockgitea.testing.thread import ServerClosed
from mockgitea.testing.waiting import NotInTime

__all__ = [
    "AuditReport",
    "CallMatcher",
    "CallRecord",
    "CallRefused",
    "Clock",
    "Difference",
    "Faults",
    "Finding",
    "Gate",
    "JournalView",
    "MockGitea",
    "NotInTime",
    "PlayedRunner",
    "Rule",
    "Run",
    "Runner",
    "ServerClosed",
    "UnexpectedCalls",
]
