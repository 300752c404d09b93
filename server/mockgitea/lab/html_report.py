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
from mockgitea.lab.figures import FIGURES, formatted
from mockgitea.lab.plots import Frame, Line, bar_plot, line_plot, thinned
from mockgitea.lab.table import heading, shown

METHODS: Final = ("FetchTask", "UpdateLog", "UpdateTask")
CURVES: Final = {
    "pickup": "From waiting to assigned",
    "rows": "From a row's own time to the page showing it",
    "steps_visible": "From a step's start or end to the page showing it",
}
AFTER_S: Final = 120
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
            "Arrivals at the server, second by second; longer simulations as means. Downtimes are shaded.",
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
        ("After the outage", "Arrivals per 100 ms, from the moment the server is back.", _recoveries(results)),
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
    lines = [
        Line(one["strategy"], thinned([sum(column) for column in zip(*_series(one).values(), strict=True)]), place)
        for place, one in enumerate(results)
    ]
    frame = Frame(title="requests a second, all strategies", x="seconds", y="requests/s", shaded=_shaded(results[0]))
    return line_plot(lines, frame)


def _by_method(result: Mapping[str, Any]) -> Markup:
    lines = [Line(name, thinned(counts), place) for place, (name, counts) in enumerate(_series(result).items())]
    title = f"requests a second of {result['strategy']} by method"
    return line_plot(lines, Frame(title=title, x="seconds", y="requests/s", shaded=_shaded(result)))


def _series(result: Mapping[str, Any]) -> dict[str, list[int]]:
    arrived = result["series"]["arrived"]
    return {name: arrived[name] for name in METHODS if any(arrived.get(name, ()))} or {METHODS[0]: [0]}


def _shares(results: Results, key: str) -> Markup:
    lines = [
        Line(one["strategy"], [(seconds, float(percent)) for percent, seconds in enumerate(one["curves"][key])], place)
        for place, one in enumerate(results)
    ]
    return line_plot(lines, Frame(title=CURVES[key], x="seconds", y="% of events", y_max=100.0))


def _recoveries(results: Results) -> list[tuple[str, Markup]]:
    plots = []
    for number, window in enumerate(results[0]["recoveries"]):
        lines = [
            Line(one["strategy"], thinned(one["recoveries"][number]["tenths"], step=1 / TENTHS), place)
            for place, one in enumerate(results)
        ]
        summed = [
            Line(
                one["strategy"], thinned(list(accumulate(one["recoveries"][number]["tenths"])), step=1 / TENTHS), place
            )
            for place, one in enumerate(results)
        ]
        when = f"{window['kind']}, until {window['end_s']:g} s"
        plots.append((when, line_plot(lines, Frame(title=f"arrivals, {when}", x="seconds after", y="per 100 ms"))))
        plots.append(
            (
                f"{when}, added up",
                line_plot(summed, Frame(title=f"arrivals so far, {when}", x="seconds after", y="calls")),
            )
        )
    return plots


def _opened(results: Results) -> Markup:
    bars = [(one["strategy"], float(one["connections"]["opened"] or 0), place) for place, one in enumerate(results)]
    return bar_plot(bars, title="connections opened")
