"""The comparison as a table: strategies side by side, for the terminal and for Markdown."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mockgitea.lab.figures import FIGURES, Figure

if TYPE_CHECKING:
    from rich.table import Table


def shown(results: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """Return the figures that at least one of the results has."""
    return [figure for figure in FIGURES if any(figure.of(result) is not None for result in results)]


def heading(figure: Figure) -> str:
    """Return a figure's title with its unit."""
    return f"{figure.title} ({figure.unit})" if figure.unit and figure.unit != "%" else figure.title


def terminal_table(content: Mapping[str, Any]) -> "Table":
    """Return a table for `rich`: one row a figure, one column a strategy; a missed closed form is marked."""
    from rich.table import Table  # noqa: PLC0415 - costs 100 ms, which no `--help` should pay

    results = content["results"]
    table = Table(title=f"{content['scenario']}: {content['description']}".rstrip(": "), title_justify="left")
    table.add_column("figure")
    for result in results:
        table.add_column(result["strategy"], justify="right")
    for figure in shown(results):
        marks = [_mark(figure, result) for result in results]
        cells = [figure.text(result) + mark for result, mark in zip(results, marks, strict=True)]
        table.add_row(heading(figure), *cells)
    return table


def markdown_table(content: Mapping[str, Any]) -> str:
    """Return the same table in Markdown, one row a strategy."""
    results = content["results"]
    figures = shown(results)
    lines = [
        "| strategy | " + " | ".join(heading(figure) for figure in figures) + " |",
        "|---|" + "---:|" * len(figures),
    ]
    lines += [
        f"| `{result['strategy']}` | " + " | ".join(figure.text(result) for figure in figures) + " |"
        for result in results
    ]
    return "\n".join(lines) + "\n"


def _mark(figure: Figure, result: Mapping[str, Any]) -> str:
    if figure.name != "expected_per_s" or not result["expected"]:
        return ""
    return " ✓" if all(check["passes"] for check in result["expected"]) else " ✗"
