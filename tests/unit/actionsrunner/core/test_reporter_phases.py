"""The phases of the report machine: random lives of tasks move only as docs/state-machines.md says, and end."""

import random
import re
from pathlib import Path

from actionsrunner.core.failures import Failure
from actionsrunner.core.polling import HaltReason
from actionsrunner.core.reporter import EventReporter, Phase, ReportPolicy, ReportState
from actionsrunner.core.reporting import (
    AddSentinel,
    Done,
    LogAnswered,
    LogFailed,
    ReportCommand,
    ReportEvent,
    Seen,
    SendLog,
    SendState,
    StateAnswered,
    StateFailed,
    Woke,
)
from actionswire.result import Result

DOCUMENT = (Path(__file__).parents[4] / "docs" / "state-machines.md").read_text(encoding="utf-8")
STEPS_MAX = 2000
LIVES = 300
FAILURES = [*Failure, *[Failure.LOG_SEALED] * 4, *[Failure.RETRY] * 8]


def documented() -> dict[Phase, frozenset[Phase]]:
    text = DOCUMENT.partition("\n## Reporting\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([\w ]+) \| ([\w, ]+) \| .* \|$", text, re.MULTILINE)
    named = {phase.name.lower().replace("_", " "): phase for phase in Phase}
    return {
        named[start]: frozenset(named[word] for word in following.split(", ") if word != "none")
        for start, following in rows
        if start in named
    }


class Life:
    """One task whose job, server and network do anything; the machine must end it."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.machine = EventReporter(ReportPolicy(), random.Random(seed))
        self.seen = Seen()
        self.moves: set[tuple[Phase, Phase]] = set()
        self.now_us = 0

    def run(self) -> Phase:
        state = self.machine.start(0)
        event: ReportEvent = Woke(self.seen)
        for _ in range(STEPS_MAX):
            before = state
            state, commands = self.machine.step(state, event, self.now_us)
            self._note(before, state)
            self.seen = self.seen._replace(rows=self.seen.rows + sum(isinstance(one, AddSentinel) for one in commands))
            if isinstance(commands[-1], Done):
                return state.phase
            event = self._answer(commands[-1])
        raise AssertionError(f"not over after {STEPS_MAX} steps, phase {state.phase}")

    def _note(self, before: ReportState, after: ReportState) -> None:
        if before.phase is not after.phase:
            self.moves.add((before.phase, after.phase))

    def _answer(self, command: ReportCommand) -> ReportEvent:
        rng = self.rng
        self.now_us += rng.randrange(6_000_000)
        self._live()
        failure = rng.choice(FAILURES) if rng.random() < 0.4 else None
        if isinstance(command, SendLog):
            if failure is not None:
                return LogFailed(self.seen, failure)
            return LogAnswered(self.seen, command.rows, command.index + rng.choice([0, command.rows, command.rows]))
        if isinstance(command, SendState):
            if failure is not None:
                return StateFailed(self.seen, failure)
            return StateAnswered(self.seen, rng.choice([Result.UNSPECIFIED] * 6 + [Result.CANCELLED]))
        return Woke(self.seen)

    def _live(self) -> None:
        rng, seen = self.rng, self.seen
        if seen.ended:
            return
        seen = seen._replace(rows=seen.rows + rng.choice([0, 0, 1, 150]), moves=seen.moves + rng.choice([0, 0, 1]))
        seen = seen._replace(interrupted=seen.interrupted or rng.random() < 0.05)
        self.seen = seen._replace(ended=rng.random() < 0.1)


def test_reporter_phases_follow_the_document_and_every_life_ends() -> None:
    moves: set[tuple[Phase, Phase]] = set()
    for seed in range(LIVES):
        life = Life(seed)
        assert life.run() in (Phase.CLOSED, Phase.GONE), f"seed {seed}"
        moves |= life.moves
    assert moves == {(start, end) for start, ends in documented().items() for end in ends}


def test_document_has_every_phase_and_every_reason_to_halt() -> None:
    assert set(documented()) == set(Phase)
    text = DOCUMENT.partition("\n## Polling\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == {reason.value for reason in HaltReason}
