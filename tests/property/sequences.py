"""Random sequences of legal and illegal calls, drawn from one seed and from what the model knows so far."""

import random
from collections.abc import Callable
from typing import Any

from model import FINAL, JobSpec, Model

LABELS = ("linux", "arm", "gpu")
KEYS = ("", "", "key-a", "key-b", "key-c")
CONTENTS = ("", "plain", "two\nlines", "tab\tand\rreturn", "ümlaut 漢字", "x" * 66_000, "é" * 40_000, "\n" * 40_000)
OUTPUTS = ("a", "b", "k" * 255, "k" * 256, "ä" * 128)
S = 1_000_000
SILENT_S = 901
"""After this long without a call every running task has been found silent."""

Op = tuple[str, dict[str, Any]]


class Sequence:
    """Draws one operation after the other; never looks at the real server."""

    def __init__(self, rng: random.Random, model: Model, *, is_remote: bool = False, can_restart: bool = False) -> None:
        self.rng = rng
        self.model = model
        self.is_remote = is_remote
        self.seen_versions: dict[int, int] = {}
        self.planned: list[Op] = []
        kinds: list[tuple[int, Callable[[], Op | None]]] = [
            (6, self._register),
            (12, self._enqueue),
            (30, self._fetch),
            (34, self._update_task),
            (34, self._update_log),
            (6, self._cancel),
            (4, self._rerun),
            (8, self._advance),
            (3, self._delete_runner),
        ]
        if model.rules.has_declare:
            kinds.append((4, self._declare))
        if model.rules.disabling:
            kinds.append((3, self._toggle))
        if can_restart:
            kinds.append((3, self._restart))
        if model.rules.releases_claims and not is_remote:
            kinds.append((4, self._release))
        self.weights = [weight for weight, _ in kinds]
        self.kinds = [kind for _, kind in kinds]

    def next(self) -> Op:
        """Draw an operation that makes sense to try now."""
        if not self.model.runners:
            return self._register()
        if self.planned:
            return self.planned.pop()
        while True:
            if op := self.rng.choices(self.kinds, self.weights)[0]():
                return op

    def _register(self) -> Op:
        rng = self.rng
        scope = rng.choice([(False, 0), (False, 0), (True, 0), (False, 1), (False, 2)])
        return "register", {
            "token": rng.choice(["good"] * 8 + ["", "unknown"]),
            "name": rng.choice(["runner"] * 9 + [""]),
            "owner": scope[0],
            "repo": scope[1],
            "labels": self._labels(),
            "agent_labels": self._labels(),
            "ephemeral": rng.random() < 0.25,
            "cancelling": rng.random() < 0.6,
        }

    def _declare(self) -> Op:
        return "declare", {"who": self._who(), "labels": self._labels(), "cancelling": self.rng.random() < 0.5}

    def _toggle(self) -> Op | None:
        who = self._living()
        return None if who is None else ("toggle", {"who": who, "disabled": self.rng.random() < 0.5})

    def _delete_runner(self) -> Op | None:
        who = self._living()
        return None if who is None or self.rng.random() < 0.5 else ("delete_runner", {"who": who})

    def _enqueue(self) -> Op:
        rng = self.rng
        specs: list[JobSpec] = []
        for number in range(rng.randint(1, 4)):
            earlier = [spec.name for spec in specs]
            needs = tuple(name for name in earlier if rng.random() < 0.35)
            # Behind HTTP, runners that read the counters must not match a job that wants no label.
            runs_on = tuple(rng.sample(LABELS, rng.choice([1 if self.is_remote else 0, 1, 1, 1, 2])))
            specs.append(JobSpec(f"job{number}", runs_on, needs, rng.randint(1, 3), bool(needs) and rng.random() < 0.4))
        return "enqueue", {"repo": rng.choice([1, 1, 2]), "specs": specs}

    def _fetch(self) -> Op:
        rng, who = self.rng, self._who()
        version = rng.choice([0, self.seen_versions.get(who, 0), rng.randint(-1, 12)])
        capacity = rng.choice([None, None, 0, 1, 2, 5])
        return "fetch", {"who": who, "version": version, "capacity": capacity, "key": rng.choice(KEYS)}

    def _update_task(self) -> Op:
        rng, task = self.rng, self._task()
        owner, count = self._owner(task), 3
        known = self.model.tasks.get(task)
        if known is not None:
            count = len(known.steps)
        now_s = self.model.now // S
        steps = []
        for number in range(count + 1):
            if rng.random() < 0.7:
                started = rng.choice([0, now_s, now_s - 5]) * S + rng.choice([0, 250_000]) * (rng.random() < 0.5)
                steps.append(
                    {
                        "id": number,
                        "result": rng.choice([0, 0, 0, 1, 2, 3, 4]),
                        "started": started,
                        "stopped": rng.choice([0, 0, now_s * S + 999_999]),
                        "log_index": rng.choice([0, 0, 1, 7]),
                        "log_length": rng.choice([0, 0, 1, 9]),
                    }
                )
        outputs = {rng.choice(OUTPUTS): rng.choice(["1", "2", ""]) for _ in range(rng.choice([0, 0, 0, 1, 3]))}
        return "update_task", {
            "who": owner,
            "number": task,
            "result": rng.choice([0, 0, 0, 0, 1, 1, 2, 3, 4]),
            "stopped": rng.choice([0, self.model.now]),
            "steps": steps,
            "outputs": outputs,
        }

    def _update_log(self) -> Op:
        rng, task = self.rng, self._task()
        known = self.model.tasks.get(task)
        held = len(known.lines) if known else 0
        index = held + rng.choice([0, 0, 0, 0, -1, -2, -held, 1, 3])
        rows = [
            (rng.choice([0, 1_700_000_000_512_345_678, self.model.now * 1000 + 99]), rng.choice(CONTENTS))
            for _ in range(rng.choice([0, 0, 1, 1, 2, 5]))
        ]
        return "update_log", {
            "who": self._owner(task), "number": task, "index": index, "rows": rows, "no_more": rng.random() < 0.25,
        }  # fmt: skip

    def _cancel(self) -> Op | None:
        runs = len(self.model.runs)
        return ("cancel", {"number": self.rng.randrange(runs)}) if runs else None

    def _rerun(self) -> Op | None:
        over = [n for n, run in enumerate(self.model.runs) if all(job.status in FINAL for job in run.jobs)]
        return ("rerun", {"number": self.rng.choice(over)}) if over else None

    def _release(self) -> Op | None:
        return ("release", {"number": self.rng.choice(list(self.model.tasks))}) if self.model.tasks else None

    def _advance(self) -> Op:
        """Move time; a long jump in two parts, so that silent tasks are reaped before old jobs are abandoned."""
        choices = [0.4, 1, 2, 31, 290, 301, 601, 660, 3600, 10_900, 86_500]
        seconds = self.rng.choices(choices, [20, 20, 9, 9, 9, 9, 5, 5, 2, 2, 2])[0]
        if seconds > SILENT_S:
            self.planned.append(("advance", {"seconds": seconds - SILENT_S}))
        return "advance", {"seconds": min(seconds, SILENT_S)}

    def _restart(self) -> Op:
        return "restart", {}

    def _labels(self) -> tuple[str, ...]:
        return tuple(self.rng.sample(LABELS, self.rng.choice([0, 1, 2, 3, 3])))

    def _who(self) -> int:
        """A runner, now and then one that does not exist or is gone."""
        living = self._living()
        if living is None or self.rng.random() < 0.1:
            return self.rng.randrange(len(self.model.runners) + 1)
        return living

    def _living(self) -> int | None:
        alive = [runner.number for runner in self.model.runners if not runner.gone]
        return self.rng.choice(alive) if alive else None

    def _task(self) -> int:
        """A task number: mostly one that runs, sometimes an ended or unknown one."""
        running = [number for number, task in self.model.tasks.items() if task.status not in FINAL]
        if running and self.rng.random() < 0.75:
            return self.rng.choice(running)
        return self.rng.randint(1, len(self.model.tasks) + 1)

    def _owner(self, task: int) -> int:
        known = self.model.tasks.get(task)
        return self._who() if known is None or self.rng.random() < 0.12 else known.runner.number
