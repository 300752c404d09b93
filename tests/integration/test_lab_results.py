"""What is committed under bench/results is what the laboratory measures, and what the README says of it."""

import subprocess
import sys
from pathlib import Path

import pytest

from mockgitea.lab.claims import NOT_MEASURED, judged
from mockgitea.lab.compare import compare, read_document
from mockgitea.lab.scenario_reader import PRESETS, read_preset
from mockgitea.lab.suite import Adjusted, disagreements, run_suite

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"


def test_tables_of_the_readme_and_the_report_are_made_from_the_results() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "headline.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_has_a_result_that_agrees_with_arithmetic(name: str) -> None:
    content = read_document(RESULTS / f"headline-{name}.json")
    assert content["results"]
    assert disagreements(content) == []


def test_every_claim_has_been_measured_and_none_differs() -> None:
    rows = judged({name: read_document(RESULTS / f"headline-{name}.json") for name in PRESETS})
    assert {row.verdict for row in rows} <= {"confirmed", "not as coded"}
    assert NOT_MEASURED not in {row.verdict for row in rows}


@pytest.mark.slow
@pytest.mark.parametrize(("preset", "strategy"), [("silent", "single"), ("capacity-60", "single")])
def test_a_committed_result_is_what_comes_out_again(preset: str, strategy: str) -> None:
    committed = read_document(RESULTS / f"headline-{preset}.json")
    before = {**committed, "results": [one for one in committed["results"] if one["strategy"] == strategy]}
    after = run_suite(Adjusted((strategy,)).apply(read_preset(preset)))
    changes = [*compare(before, after, fail_over=0.02), *compare(after, before, fail_over=0.02)]
    assert [change.text for change in changes if change.is_worse] == [], "run `make headline` again"
