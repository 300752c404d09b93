"""The table the project is about: every strategy under every preset, the claims, and their verdicts.

Writes bench/results/headline-<preset>.json and headline.md. `--quick` scales fleets and durations down, which changes
no rate of a runner; the table says so.
"""

import argparse
import dataclasses
import json
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from mockgitea.lab.claims import judged, markdown
from mockgitea.lab.compare import read_document
from mockgitea.lab.scenario import Scenario
from mockgitea.lab.scenario_reader import parse, read_preset
from mockgitea.lab.strategies import StrategyChoice
from mockgitea.lab.suite import disagreements, document, run_suite, to_json
from mockgitea.lab.table import markdown_table

RESULTS = Path(__file__).parent.parent / "bench" / "results"
SECOND_US = 1_000_000
MAIN = ("fixed", "per-worker", "single", "current-every-row", "current-breaker", "current")
CLAIMED = ("fixed-claimed", "per-worker-claimed")
VARIANTS = ("single-no-jitter", "single-one-counter")
PLANS: dict[str, tuple[str, ...]] = {
    "headline": MAIN,
    "capacity-60": (*MAIN, *CLAIMED),
    "capacity-60-full": (*MAIN, *CLAIMED),
    "idle": (*MAIN, *VARIANTS),
    "outage": (*MAIN, *VARIANTS),
    "outage-running": MAIN,
    "mixed-day": MAIN,
    "outage-chatty": ("fixed", "current-every-row", "current"),
    "silent": ("single", "current"),
}
QUICK = {
    "headline": (10, 300),
    "capacity-60": (3, 300),
    "capacity-60-full": (3, 60),
    "idle": (50, 300),
    "outage": (200, 1020),
    "outage-running": (5, 600),
    "mixed-day": (10, 1200),
    "outage-chatty": (3, 240),
    "silent": (3, 1500),
}
"""Runners and measured seconds."""
OWN = {
    "outage-chatty": """
description: jobs that write ten rows a second while the server is down for two minutes
fleet: {runners: 20, capacity: 4, start_spread_s: 10, running_tasks: 3}
workload: {shape: recorded, log: rows.log, job_s: 1800}
strategies: [{name: current}]
downtimes: [{kind: unavailable, at_s: 180, for_s: 120}]
warm_up_s: 60
duration_s: 300
""",
    "silent": """
description: jobs of five steps of twenty minutes that write nothing
fleet: {runners: 20, start_spread_s: 10, running_tasks: 1}
workload: {shape: silent}
strategies: [{name: current}]
warm_up_s: 120
duration_s: 1500
""",
}


def scenario_of(name: str, *, is_quick: bool) -> Scenario:
    """Return a preset, or one of the scenarios above, in the wanted size."""
    if name in OWN:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "rows.log").write_text("".join(f"{tenth / 10} row {tenth}\n" for tenth in range(18_000)))
            scenario = parse(OWN[name], name=name, folder=Path(folder))
    else:
        scenario = read_preset(name)
    if is_quick:
        runners, seconds = QUICK[name]
        fleet = dataclasses.replace(scenario.fleet, runners=runners)
        if name == "outage":
            fleet = dataclasses.replace(fleet, start_spread_us=0)
        scenario = dataclasses.replace(scenario, fleet=fleet, duration_us=seconds * SECOND_US)
    return scenario


def one(name: str, strategy: str, is_quick: bool) -> dict[str, Any]:
    """Simulate one preset under one strategy and return its document."""
    scenario = dataclasses.replace(scenario_of(name, is_quick=is_quick), strategies=(StrategyChoice(name=strategy),))
    return run_suite(scenario)


def text_of(documents: dict[str, dict[str, Any]]) -> str:
    """Return the tables in Markdown."""
    parts = [
        "# What polling and reporting strategies cost\n",
        "Produced by `make headline` (`QUICK=1`: smaller fleets, shorter windows); docs/lab.md explains it.\n",
    ]
    parts += ["## Claims\n", markdown(judged(documents))]
    for name, content in documents.items():
        setup = content["results"][0]["setup"]
        window = content["results"][0]["window"]
        parts.append(
            f"\n## {name}\n\n{content['description']}\n\n{setup['runners']} runners with {setup['capacity']} slots, "
            f"{window['end_s'] - window['start_s']:g} s measured.\n"
        )
        parts.append(markdown_table(content))
    return "\n".join(parts)


def main() -> int:
    """Simulate everything and write the files; 1 when arithmetic and laboratory disagree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small fleets, a few minutes")
    parser.add_argument("--preset", action="append", choices=list(PLANS), help="only these")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    names = options.preset or list(PLANS)
    options.output.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    documents: dict[str, dict[str, Any]] = {}
    with ProcessPoolExecutor(options.processes) as pool:
        wanted = {name: [pool.submit(one, name, strategy, options.quick) for strategy in PLANS[name]] for name in names}
        for name, futures in wanted.items():
            found = [future.result() for future in futures]
            content = documents[name] = document(name, found[0]["description"], [each["results"][0] for each in found])
            _write(options.output / f"headline-{name}.json", content)
            _write_tables(options.output)
            print(f"{name}: done after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    wrong = [line for content in documents.values() for line in disagreements(content)]
    print("\n".join(wrong) or "arithmetic and laboratory agree", file=sys.stderr)
    return 1 if wrong else 0


def _write_tables(folder: Path) -> None:
    """Write the tables of every preset that has a result, of an earlier run too."""
    paths = {name: folder / f"headline-{name}.json" for name in PLANS}
    documents = {name: read_document(path) for name, path in paths.items() if path.exists()}
    (folder / "headline.md").write_text(text_of(documents), encoding="utf-8")


def _write(path: Path, content: dict[str, Any]) -> None:
    """Write a document without the series and curves, which only plots need."""
    slim = json.loads(to_json(content))
    for result in slim["results"]:
        result["series"], result["curves"] = {}, {}
        for recovery in result["recoveries"]:
            recovery["tenths"] = []
    path.write_text(to_json(slim), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
