import csv
import io

from rich.console import Console

from labdocs import lab_document, result
from mockgitea.lab.csv_out import csv_text
from mockgitea.lab.figures import FIGURES, formatted
from mockgitea.lab.table import markdown_table, terminal_table

CONTENT = lab_document(result("fixed", 30.0), result("single", 3.0))


def test_every_result_is_a_row_in_markdown_and_figures_without_values_are_left_out() -> None:
    lines = markdown_table(CONTENT).splitlines()
    assert lines[0].startswith("| strategy | FetchTask (/s) |")
    assert lines[2].startswith("| `fixed` | 10.00 |")
    assert "90.0 %" in lines[3]
    assert "pickup" not in lines[0]


def test_the_terminal_table_has_a_column_for_each_strategy() -> None:
    console = Console(file=io.StringIO(), width=120)
    with console.capture() as captured:
        console.print(terminal_table(CONTENT))
    assert "single" in captured.get()
    assert "all requests (/s)" in captured.get()


def test_csv_has_one_line_for_each_strategy_and_empty_cells_for_what_does_not_exist() -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text(CONTENT))))
    assert [row["strategy"] for row in rows] == ["fixed", "single"]
    assert rows[0]["total_per_s"] == "30.0"
    assert rows[0]["pickup_p50"] == ""
    assert len(rows[0]) == len(FIGURES) + 2


def test_numbers_have_the_digits_that_say_something() -> None:
    assert [formatted(one, "s") for one in (0.1234, 12.345, 123.45, 1234.5, None)] == [
        "0.12", "12.35", "123.5", "1,234", "-"
    ]  # fmt: skip
    assert formatted(1200, "") == "1,200"
    assert formatted(0.879, "%") == "87.9 %"
