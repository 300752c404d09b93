"""What a simulation does, drawn from one integer: the fleet, its work, and every bad thing that happens and when.

A schedule is plain values, printed with every failure. It draws and knows nothing else.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from draw_faults import draw_downtime, draw_fault
from draw_work import Work, draw_work

from mockgitea.core.downtime import Downtime
from mockgitea.core.faults import Fault

PROFILES: Final = ("gitea-1.21", "gitea-1.25", "gitea-1.27", "gitea-next", "forgejo-11", "forgejo-15")
"""Every release that the runner works with."""
FAULTY_S: Final = 240.0
"""How long things go wrong."""


@dataclass(frozen=True)
class Enqueue:
    """Somebody pushes."""

    work: Work


@dataclass(frozen=True)
class Cancel:
    """Somebody cancels a run; ``pick`` chooses among those there are."""

    pick: float


@dataclass(frozen=True)
class Rerun:
    """Somebody runs a finished run again."""

    pick: float
    failed_only: bool


@dataclass(frozen=True)
class StopRunner:
    """A daemon gets signals, ``gap_s`` apart; a supervisor starts it again."""

    pick: float
    signals: int
    gap_s: float


@dataclass(frozen=True)
class KillRunner:
    """A daemon dies between two instructions; a supervisor starts it again."""

    pick: float


@dataclass(frozen=True)
class DeleteRunner:
    """Somebody deletes a registration; somebody registers another runner later."""

    pick: float


@dataclass(frozen=True)
class ReplaceServer:
    """The server's process ends, and another one starts on the same file."""

    down_s: float
    is_kill: bool


@dataclass(frozen=True)
class Heal:
    """Somebody removes every rule that is in force."""


Event = (
    Enqueue
    | Cancel
    | Rerun
    | StopRunner
    | KillRunner
    | DeleteRunner
    | ReplaceServer
    | Heal
    | Fault
    | Downtime
)  # fmt: skip


@dataclass(frozen=True)
class Act:
    """One event at its time, in seconds of the simulation."""

    at_s: float
    event: Event

    def __str__(self) -> str:
        event = self.event
        if isinstance(event, Fault | Downtime):
            shown = ", ".join(f"{name}={value}" for name, value in event.shown().items())
            return f"{self.at_s:9.3f} {type(event).__name__}({shown})"
        if isinstance(event, Enqueue):
            return f"{self.at_s:9.3f} Enqueue({event.work.file}: {event.work.shown()})"
        return f"{self.at_s:9.3f} {event}"


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """One simulation."""

    seed: int
    profile: str
    runners: int
    capacities: tuple[int, ...]
    skews_s: tuple[float, ...]
    round_trip_us: int
    has_file: bool
    """The database is a file, so that the server can be replaced."""
    acts: tuple[Act, ...]

    def __str__(self) -> str:
        head = (
            f"seed {self.seed}: {self.profile}, {self.runners} runners, capacities {self.capacities}, "
            f"calendars off by {self.skews_s} s, round trip {self.round_trip_us} us, "
            f"{'database file' if self.has_file else 'database in memory'}"
        )
        return "\n".join([head, *map(str, self.acts)])


def draw(seed: int) -> Schedule:
    """Return the schedule of this seed."""
    rng = random.Random(seed)
    has_file = rng.random() < 0.3
    runners = rng.randint(2, 4)
    return Schedule(
        seed=seed,
        profile=rng.choice(PROFILES),
        runners=runners,
        capacities=tuple(rng.randint(1, 3) for _ in range(runners)),
        skews_s=tuple(rng.choice([0.0, 0.0, -86_400.0, -37.5, 3.25, 7200.0]) for _ in range(runners)),
        round_trip_us=rng.choice([0, 0, 1_000, 80_000]),
        has_file=has_file,
        acts=tuple(sorted(_acts(rng, has_file=has_file), key=lambda act: act.at_s)),
    )


def _acts(rng: random.Random, *, has_file: bool) -> Iterator[Act]:
    for number in range(rng.randint(2, 6)):
        yield Act(_time(rng), Enqueue(draw_work(rng, number)))
    for number in range(rng.randint(1, 7)):
        yield Act(_time(rng), draw_fault(rng, f"fault-{number}"))
    for number in range(rng.choice([0, 0, 1, 1, 2])):
        yield Act(_time(rng), draw_downtime(rng, f"window-{number}"))
    for event in _of_people(rng):
        yield Act(_time(rng), event)
    if has_file:
        for _ in range(rng.choice([0, 1, 1, 2])):
            yield Act(_time(rng), ReplaceServer(rng.choice([0.0, 1.5, 20.0]), rng.random() < 0.5))


def _of_people(rng: random.Random) -> Sequence[Event]:
    events: list[Event] = []
    events += [Cancel(rng.random()) for _ in range(rng.choice([0, 1, 1, 2]))]
    events += [Rerun(rng.random(), rng.random() < 0.5) for _ in range(rng.choice([0, 1, 2]))]
    events += [
        StopRunner(rng.random(), rng.randint(1, 4), rng.choice([0.0, 0.5, 8.0])) for _ in range(rng.choice([0, 0, 1]))
    ]
    events += [KillRunner(rng.random()) for _ in range(rng.choice([0, 0, 1]))]
    events += [DeleteRunner(rng.random()) for _ in range(rng.choice([0, 0, 0, 1]))]
    events += [Heal() for _ in range(rng.choice([0, 0, 1]))]
    return events


def _time(rng: random.Random) -> float:
    return round(rng.uniform(1.0, FAULTY_S), 3)
