"""The table the project is about: every strategy under every preset, the claims, and their verdicts.

Writes bench/results/headline-<preset>.json and headline.md, and the tables of README.md between their markers.
`--quick` scales fleets and durations down, which changes no rate of a runner; every table says what was run.
`--check` only compares what is written with the results.
"""

import argparse
import json
import re
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from mockgitea.lab.claims import judged, markdown
from mockgitea.lab.compare import read_document
from mockgitea.lab.figures import FIGURES
from mockgitea.lab.scenario import Scenario
from mockgitea.lab.scenario_reader import read_preset
from mockgitea.lab.suite import Adjusted, disagreements, document, run_suite, to_json
from mockgitea.lab.table import markdown_table

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
MAIN = ("fixed", "per-worker", "single", "current-every-row", "current-breaker", "current")
CLAIMED = ("fixed-claimed", "per-worker-claimed")
VARIANTS = ("single-no-jitter", "single-one-counter")
PLANS: dict[str, tuple[str, ...]] = {
    "headline": MAIN,
    "capacity-60": (*MAIN, *CLAIMED),
    "capacity-60-full": (*MAIN, *CLAIMED),
    "outage": (*MAIN, *VARIANTS),
    "outage-running": MAIN,
    "idle": (*MAIN, *VARIANTS),
    "mixed-day": MAIN,
    "silent": MAIN,
    "connections": ("fixed", "fixed-tuned", "current", "current-two-idle"),
}
QUICK: dict[str, Adjusted] = {
    "headline": Adjusted(runners=10, duration_s=300),
    "capacity-60": Adjusted(duration_s=300),
    "capacity-60-full": Adjusted(duration_s=60),
    "outage": Adjusted(duration_s=1080),
    "outage-running": Adjusted(runners=2, duration_s=600),
    "idle": Adjusted(runners=50, duration_s=300),
    "mixed-day": Adjusted(duration_s=3600),
    "silent": Adjusted(runners=3),
    "connections": Adjusted(duration_s=60),
}
COLUMNS = ("total_per_s", "fetches_per_s", "reduction", "rows_p95", "steps_visible_p99", "heartbeat_worst")
"""Of the README's first table."""


def scenario_of(name: str, strategy: str, *, is_quick: bool) -> Scenario:
    """Return a preset in the wanted size under one strategy."""
    size = QUICK.get(name, Adjusted()) if is_quick else Adjusted()
    return Adjusted((strategy,), runners=size.runners, duration_s=size.duration_s).apply(read_preset(name))


def one(name: str, strategy: str, is_quick: bool) -> dict[str, Any]:
    """Simulate one preset under one strategy and return its document."""
    return run_suite(scenario_of(name, strategy, is_quick=is_quick))


def command(content: Mapping[str, Any]) -> str:
    """Return the command that measures a document again."""
    name, results = content["scenario"], content["results"]
    window, runners = results[0]["window"], results[0]["setup"]["runners"]
    usual = read_preset(name)
    words = ["mockgitea lab", name, *(f"--strategy {result['strategy']}" for result in results)]
    if runners != usual.fleet.runners:
        words.append(f"--runners {runners}")
    if (seconds := window["end_s"] - window["start_s"]) * 1e6 != usual.duration_us:
        words.append(f"--duration {seconds:g}s")
    return " ".join(words)


def size_of(content: Mapping[str, Any]) -> str:
    """Say which fleet was simulated for how long, and whether that is the preset's own size."""
    setup, window = content["results"][0]["setup"], content["results"][0]["window"]
    usual = read_preset(content["scenario"])
    seconds = window["end_s"] - window["start_s"]
    text = f"{setup['runners']} runners with {setup['capacity']} slots, {seconds:,.0f} s measured"
    cuts = []
    if setup["runners"] != usual.fleet.runners:
        cuts.append(f"{usual.fleet.runners} runners")
    if seconds * 1e6 != usual.duration_us:
        cuts.append(f"{usual.duration_us / 1e6:,.0f} s")
    return f"{text}; scaled down from the preset's {' and '.join(cuts)}." if cuts else f"{text}."


def report(documents: Mapping[str, Mapping[str, Any]]) -> str:
    """Return headline.md."""
    parts = [
        "# What polling and reporting strategies cost\n",
        "Produced by `make headline` (`QUICK=1`: smaller fleets, shorter windows); "
        "[docs/lab.md](../../docs/lab.md) explains every figure.",
        "The same command gives the same figures on every machine.\n",
        "## Claims\n",
        markdown(judged(documents)),
    ]
    for name, content in documents.items():
        parts.append(f"\n## {name}\n\n{content['description']}\n\n{size_of(content)}\n")
        parts.append(f"```sh\n{command(content)}\n```\n")
        parts.append(markdown_table(content))
    return "\n".join(parts)


def readme_tables(documents: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the tables of README.md by the name of their markers."""
    found = {"claims": markdown(judged(documents)).strip(), "rates": _rates(documents)}
    if "headline" in documents:
        found["headline"] = _headline(documents["headline"])
    return found


def _headline(content: Mapping[str, Any]) -> str:
    figures = [figure for name in COLUMNS for figure in FIGURES if figure.name == name]
    lines = [
        "| strategy | " + " | ".join(figure.title for figure in figures) + " |",
        "|---|" + "---:|" * len(figures),
    ]
    for result in content["results"]:
        cells = [figure.text(result) + (" s" if figure.unit == "s" else "") for figure in figures]
        lines.append(f"| `{result['strategy']}` | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", f"{size_of(content)} Requests per second; `{command(content)}`"])


def _rates(documents: Mapping[str, Mapping[str, Any]]) -> str:
    total = next(figure for figure in FIGURES if figure.name == "total_per_s")
    names = [*MAIN, *CLAIMED, *VARIANTS]
    head = "| preset | runners | " + " | ".join(f"`{name}`" for name in names) + " |"
    lines = [head, "|---|" + "---:|" * (len(names) + 1)]
    for preset, content in documents.items():
        found = {result["strategy"]: total.text(result) for result in content["results"]}
        if preset != "connections":
            runners, usual = content["results"][0]["setup"]["runners"], read_preset(preset).fleet.runners
            size = str(runners) if runners == usual else f"{runners} of {usual}"
            lines.append(f"| {preset} | {size} | " + " | ".join(found.get(name, "") for name in names) + " |")
    return "\n".join(lines)


def with_tables(readme: str, tables: Mapping[str, str]) -> str:
    """Return README.md with each table between ``<!-- begin lab NAME -->`` and its end replaced."""
    for name, text in tables.items():
        begin, end = f"<!-- begin lab {name} -->", f"<!-- end lab {name} -->"
        readme = re.sub(
            f"{re.escape(begin)}.*?{re.escape(end)}",
            lambda _, text=text, begin=begin, end=end: f"{begin}\n{text}\n{end}",  # type: ignore[misc]
            readme,
            flags=re.DOTALL,
        )
    return readme


def written(folder: Path) -> dict[Path, str]:
    """Return every text that follows from the results in a folder."""
    paths = {name: folder / f"headline-{name}.json" for name in PLANS}
    documents = {name: read_document(path) for name, path in paths.items() if path.exists()}
    texts = {folder / "headline.md": report(documents)}
    if folder == RESULTS:
        readme = ROOT / "README.md"
        texts[readme] = with_tables(readme.read_text(encoding="utf-8"), readme_tables(documents))
    return texts


def main() -> int:
    """Simulate everything and write the files; 1 when arithmetic and laboratory disagree, or a file is stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small fleets, a few minutes")
    parser.add_argument(
        "--check", action="store_true", help="simulate nothing, fail when a table is not of the results"
    )
    parser.add_argument("--preset", action="append", choices=list(PLANS), help="only these")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.check:
        stale = [path for path, text in written(options.output).items() if path.read_text(encoding="utf-8") != text]
        print("\n".join(f"{path}: not made from the results; run scripts/headline.py" for path in stale), end="")
        return 1 if stale else 0
    options.output.mkdir(parents=True, exist_ok=True)
    wrong = simulate(options)
    print("\n".join(wrong) or "arithmetic and laboratory agree", file=sys.stderr)
    return 1 if wrong else 0


def simulate(options: argparse.Namespace) -> list[str]:
    """Run every strategy of every wanted preset, write after each preset, and return the disagreements."""
    names = options.preset or list(PLANS)
    began, wrong = time.monotonic(), []
    with ProcessPoolExecutor(options.processes) as pool:
        wanted = {name: [pool.submit(one, name, strategy, options.quick) for strategy in PLANS[name]] for name in names}
        for name, futures in wanted.items():
            found = [future.result() for future in futures]
            content = document(name, found[0]["description"], [each["results"][0] for each in found])
            (options.output / f"headline-{name}.json").write_text(slim(content), encoding="utf-8")
            for path, text in written(options.output).items():
                path.write_text(text, encoding="utf-8")
            print(f"{name}: done after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
            wrong += disagreements(content)
    return wrong


def slim(content: Mapping[str, Any]) -> str:
    """Return a document without the series and curves, which only plots need."""
    copy = json.loads(to_json(content))
    for result in copy["results"]:
        result["series"], result["curves"] = {}, {}
        for recovery in result["recoveries"]:
            recovery["tenths"] = []
    return to_json(copy)


if __name__ == "__main__":
    sys.exit(main())
