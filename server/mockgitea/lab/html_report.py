"""The report as one HTML file that needs nothing else: no script, no outside resource, its own strict policy.

Chooses what is plotted from a document of `suite`; `plots` draws, `claims` judges.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from mockgitea import __version__
from mockgitea.lab.claims import NOT_MEASURED, judged
from mockgitea.lab.figures import FIGURES, formatted
from mockgitea.lab.plots import Frame, Line, bar_plot, line_plot, number, thinned
from mockgitea.lab.table import heading, shown

METHODS: Final = ("FetchTask", "UpdateLog", "UpdateTask")
CURVES: Final = {
    "pickup": "From waiting to assigned",
    "rows": "From a row's own time to the page showing it",
    "steps_visible": "From a step's start or end to the page showing it",
}
TENTHS: Final = 10

Results = Sequence[Mapping[str, Any]]


def html_text(content: Mapping[str, Any]) -> str:
    """Return the page for one document."""
    environment = Environment(
        loader=PackageLoader("mockgitea.lab"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = environment.get_template("report.css").render()
    results = content["results"]
    return environment.get_template("report.html").render(
        content=content,
        results=results,
        version=__version__,
        style=Markup(style),  # noqa: S704 - our own file
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        figures=shown(results),
        heading=heading,
        formatted=formatted,
        sentence=_sentence(results),
        claims=[row for row in judged({content["scenario"]: content}) if row.verdict != NOT_MEASURED],
        setup=results[0]["setup"],
        sections=_sections(results),
    )


def _sentence(results: Results) -> str:
    """Say in one sentence what the comparison found."""
    rate = next(figure for figure in FIGURES if figure.name == "total_per_s")
    busiest = max(results, key=lambda result: float(result["rates"]["total"]))
    calmest = min(results, key=lambda result: float(result["rates"]["total"]))
    most, least = busiest["rates"]["total"], calmest["rates"]["total"]
    if busiest is calmest or most == least:
        return f"{busiest['strategy']} makes {rate.text(busiest)} requests a second."
    return (
        f"{busiest['strategy']} makes {rate.text(busiest)} requests a second, {calmest['strategy']} "
        f"{rate.text(calmest)}: {1 - least / most:.1%} less."
    )


def _sections(results: Results) -> list[tuple[str, str, list[tuple[str, Markup]]]]:
    """Return heading, explanation and plots of every section that has something to show."""
    found = [
        (
            "Requests over time",
            "Arrivals at the server, second by second; longer simulations as means. Downtime is shaded.",
            [("All strategies", _totals(results)), *((one["strategy"], _by_method(one)) for one in results)],
        ),
        (
            "How long people wait",
            "The share of all events (vertical) that took at most so many seconds (horizontal).",
            [
                (title, _shares(results, key))
                for key, title in CURVES.items()
                if any(one["curves"][key] for one in results)
            ],
        ),
        (
            "After the outage",
            "Arrivals per 100 ms from the moment the server is back; where they are too many to draw, the peaks.",
            _recoveries(results),
        ),
        (
            "Connections",
            "Opened in the whole simulation, under the rules of the network model.",
            [("", _opened(results))],
        ),
    ]
    return [section for section in found if section[2]]


def _shaded(result: Mapping[str, Any]) -> list[tuple[float, float]]:
    return [(one["start_s"], one["end_s"]) for one in result["recoveries"]]


def _totals(results: Results) -> Markup:
    sums = {one["strategy"]: [sum(column) for column in zip(*_series(one).values(), strict=True)] for one in results}
    return _over_time(sums, "requests a second, all strategies", results[0])


def _by_method(result: Mapping[str, Any]) -> Markup:
    return _over_time(_series(result), f"requests a second of {result['strategy']} by method", result)


def _over_time(counts: Mapping[str, Sequence[int]], title: str, result: Mapping[str, Any]) -> Markup:
    lines = [Line(name, thinned(values), place) for place, (name, values) in enumerate(counts.items())]
    told = "; ".join(
        f"{name} {number(sum(values) / max(1, len(values)))} on average, at most {max(values, default=0):,}"
        for name, values in counts.items()
    )
    shaded = _shaded(result)
    told += "".join(f"; server down from {start:g} s to {end:g} s" for start, end in shaded)
    return line_plot(lines, Frame(title=title, told=told, x="seconds", y="requests/s", shaded=shaded))


def _series(result: Mapping[str, Any]) -> dict[str, list[int]]:
    arrived = result["series"]["arrived"]
    return {name: arrived[name] for name in METHODS if any(arrived.get(name, ()))} or {METHODS[0]: [0]}


def _shares(results: Results, key: str) -> Markup:
    lines = [
        Line(one["strategy"], [(seconds, float(percent)) for percent, seconds in enumerate(one["curves"][key])], place)
        for place, one in enumerate(results)
    ]
    told = "; ".join(
        f"{line.name}: half within {number(line.points[len(line.points) // 2][0])} s, all within "
        f"{number(line.points[-1][0])} s"
        for line in lines
        if line.points
    )
    return line_plot(lines, Frame(title=CURVES[key], told=told, x="seconds", y="% of events", y_max=100.0))


def _recoveries(results: Results) -> list[tuple[str, Markup]]:
    plots = []
    for place, window in enumerate(results[0]["recoveries"]):
        when = f"{window['kind']}, until {window['end_s']:g} s"
        tenths = {one["strategy"]: one["recoveries"][place]["tenths"] for one in results}
        busiest = "; ".join(
            f"{one['strategy']}: {one['recoveries'][place]['busiest_second']:,} in the busiest second"
            for one in results
        )
        plots.append((when, _after(tenths, f"arrivals, {when}", busiest, "per 100 ms", is_peak=True)))
        summed = {name: list(accumulate(counts)) for name, counts in tenths.items()}
        told = "; ".join(f"{name}: {counts[-1]:,}" for name, counts in summed.items() if counts)
        plots.append((f"{when}, added up", _after(summed, f"arrivals so far, {when}", told, "calls")))
    return plots


def _after(counts: Mapping[str, Sequence[int]], title: str, told: str, unit: str, *, is_peak: bool = False) -> Markup:
    lines = [
        Line(name, thinned(values, step=1 / TENTHS, is_peak=is_peak), place)
        for place, (name, values) in enumerate(counts.items())
    ]
    return line_plot(lines, Frame(title=title, told=told, x="seconds after", y=unit))


def _opened(results: Results) -> Markup:
    bars = [(one["strategy"], float(one["connections"]["opened"] or 0), place) for place, one in enumerate(results)]
    return bar_plot(bars, title="connections opened")
