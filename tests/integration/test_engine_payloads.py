"""Whatever stands in a payload, a job ends with a result, a row that says why, and nothing left behind."""

import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actionswire.result import Result
from actionswire.workflow_yaml import dump
from enginejob import left_over, run, task

pytestmark = pytest.mark.slow

SEEDS = range(12)
PAYLOADS_PER_SEED = 25

SOUND: dict[str, Any] = {
    "name": "sound",
    "on": {"workflow_dispatch": {"inputs": {"a": {"type": "boolean", "default": "x"}}}},
    "env": {"A": "1"},
    "defaults": {"run": {"shell": "sh", "working-directory": "."}},
    "jobs": {
        "b": {
            "name": "n",
            "runs-on": ["host"],
            "if": "always()",
            "env": {"B": "${{ vars.x }}"},
            "strategy": {"fail-fast": True, "matrix": {"n": [1], "include": [{"n": 1, "z": 2}], "exclude": []}},
            "timeout-minutes": 3,
            "container": None,
            "services": {},
            "outputs": {"o": "${{ steps.s.outputs.x }}"},
            "defaults": {"run": {"shell": "sh"}},
            "steps": [
                {
                    "id": "s",
                    "name": "y",
                    "run": 'echo "x=1" >> $GITHUB_OUTPUT',
                    "if": "success()",
                    "env": {"C": "d"},
                    "shell": "sh",
                    "working-directory": ".",
                    "continue-on-error": False,
                    "timeout-minutes": 1,
                },
                {"run": "true"},
            ],
        }
    },
}
ODD_VALUES: list[Any] = [
    None, "", 0, -1, 1.5, 1e308, True, False, [], {}, [[]], {"a": {"b": []}}, ["a", None, {}], 10**400,
    "${{", "${{ }}", "${{ x", "${{ nope }}", "${{ github }}", "${{ toJSON(github) }}", "${{ hashFiles('**') }}",
    "${{ fromJSON('{\"a\": [1]}') }}", "${{ fromJSON('\"\\ud800\"') }}", "${{ matrix }}", "${{ 1/0 }}", "always()",
    "a\0b", "a=b", "x" * 70_000, "{0}", "{1} {0}", "' {0}", "../..", "/nope", "::add-mask::", "\n", "a\nb", "日本 {0}",
]  # fmt: skip
ODD_KEYS = ["", "on", "if", "uses", "run", "a=b", "include", "${{ x }}", "steps", "x" * 300]


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(node, dict):
        for key, value in node.items():
            yield from places(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from places(value, (*path, index))


def spoil(rng: random.Random) -> dict[str, Any]:
    """Put one to three odd values somewhere into the sound workflow."""
    workflow = copy.deepcopy(SOUND)
    for _ in range(rng.randint(1, 3)):
        *way, last = rng.choice(list(places(workflow)))
        node: Any = workflow
        for key in way:
            node = node[key]
        if isinstance(node, dict) and rng.random() < 0.25:
            last = rng.choice(ODD_KEYS)
        node[last] = copy.deepcopy(rng.choice(ODD_VALUES))
    return workflow


@pytest.mark.parametrize("seed", SEEDS)
def test_any_payload_ends_as_an_outcome(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    for number in range(PAYLOADS_PER_SEED):
        workflow = spoil(rng)
        place = f"seed {seed}, payload {number}: {str(workflow)[:3000]}"
        spec = task(
            dump(workflow),
            vars={"x": "1"},
            context={"event_name": "workflow_dispatch", "event": {"inputs": {"a": "true"}}},
        )
        job = run(tmp_path, spec, interrupt_grace_s=0.2, terminate_grace_s=0.2, job_timeout_s=5.0)
        assert job.result in (Result.SUCCESS, Result.FAILURE, Result.SKIPPED), place
        assert None not in job.steps, place
        assert job.result is not Result.FAILURE or any(row.startswith("##[error]") for row in job.rows), place
        assert left_over(tmp_path) == [], place
