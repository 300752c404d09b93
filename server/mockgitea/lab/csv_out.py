"""The figures as CSV, one line a strategy, for spreadsheets and plotting programs."""

import csv
import io
from collections.abc import Mapping
from typing import Any

from mockgitea.lab.figures import FIGURES


def csv_text(content: Mapping[str, Any]) -> str:
    """Return a header and one line for each strategy; empty cells where a figure does not exist."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["scenario", "strategy", *(figure.name for figure in FIGURES)])
    for result in content["results"]:
        values = [figure.of(result) for figure in FIGURES]
        writer.writerow([content["scenario"], result["strategy"], *("" if one is None else one for one in values)])
    return out.getvalue()
