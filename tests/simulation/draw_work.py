"""Random workflows: a few jobs that need each other, with steps that print, wait, tell secrets, set outputs or fail."""

import random
from dataclasses import dataclass
from typing import Any

import yaml

from virtualfleet import LABEL

SECRETS = {
    "TOKEN": "correct-horse-battery",
    "KEY": "-----BEGIN-----\nfirst line of it\nsecond line of it\n-----END-----",
}


@dataclass(frozen=True)
class Work:
    """One workflow file."""

    file: str
    source: str

    def shown(self) -> str:
        """Return the jobs in one line."""
        jobs = yaml.safe_load(self.source)["jobs"].items()
        return "; ".join(f"{name}{_extras(job)} {' / '.join(_steps(job))}" for name, job in jobs)


def draw_work(rng: random.Random, number: int) -> Work:
    """Return a workflow of one to four jobs."""
    names = [f"j{place}" for place in range(rng.randint(1, 4))]
    jobs = {name: _job(rng, names[:place]) for place, name in enumerate(names)}
    return Work(f"w{number}.yml", yaml.safe_dump({"on": "push", "jobs": jobs}, sort_keys=False))


def _extras(job: dict[str, Any]) -> str:
    needs = f" after {', '.join(job['needs'])}" if "needs" in job else ""
    return needs + (" always" if "if" in job else "") + (" twice" if "strategy" in job else "") + ":"


def _steps(job: dict[str, Any]) -> list[str]:
    return [", ".join(step["run"].splitlines()) for step in job["steps"]]


def _job(rng: random.Random, earlier: list[str]) -> dict[str, Any]:
    job: dict[str, Any] = {"runs-on": LABEL}
    needs = [name for name in earlier if rng.random() < 0.5]
    if needs:
        job["needs"] = needs
        if rng.random() < 0.3:
            job["if"] = "always()"
    if rng.random() < 0.15:
        job["strategy"] = {"matrix": {"n": [1, 2]}}
    job["steps"] = [{"run": _script(rng)} for _ in range(rng.randint(1, 3))]
    return job


def _script(rng: random.Random) -> str:
    lines = []
    for _ in range(rng.randint(1, 3)):
        draw = rng.random()
        if draw < 0.6:
            lines.append(f"rows {rng.choice([1, 7, 30, 250])} over {rng.choice([0, 0.4, 6, 20])}")
        elif draw < 0.8:
            lines.append(f"sleep {rng.choice([0.2, 4, 15])}")
        elif draw < 0.9:
            lines.append(f"tell {rng.choice(sorted(SECRETS))}")
        elif draw < 0.95:
            lines.append("output out=" + rng.choice(["plain", *sorted(SECRETS)]))
        else:
            lines.append("fail")
    return "\n".join(lines)
