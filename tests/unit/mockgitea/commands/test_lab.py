import json
from pathlib import Path

import pytest

from labdocs import lab_document, result
from mockgitea.cli import main
from mockgitea.lab.suite import to_json

TINY = """
fleet: {runners: 2}
strategies: [{name: current}]
warm_up_s: 0
duration_s: 10
"""


def test_a_tiny_scenario_prints_a_table_and_writes_every_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)
    targets = [f"--{kind}={tmp_path / f'out.{kind}'}" for kind in ("json", "csv", "html")]
    assert main(["lab", str(tmp_path / "tiny.yaml"), "--strategy", "fixed", "--strategy", "single", *targets]) == 0
    assert "all requests" in capsys.readouterr().out
    content = json.loads((tmp_path / "out.json").read_text())
    assert [one["strategy"] for one in content["results"]] == ["fixed", "single"]
    assert (tmp_path / "out.csv").read_text().count("\n") == 3
    assert (tmp_path / "out.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["nonsense"], "preset: unknown name 'nonsense'"),
        (["missing.yaml"], "missing.yaml: cannot be read"),
        (["idle", "--strategy", "wild"], "unknown name 'wild'"),
        (["idle", "--duration", "soon"], "--duration: 'soon' is not a duration"),
        (["idle", "--duration", "1500ms"], "--duration: must be whole seconds"),
        (["idle", "--runners", "0"], "--runners: must be at least 1"),
        (["idle", "capacity-60"], "name one preset"),
        (["compare", "a.json"], "name two files"),
        (["compare", "a.json", "none.json"], "none.json: cannot be read"),
        (["compare", "a.json", "b.json", "--seed", "3"], "--seed: has no meaning with compare"),
        (["idle", "--fail-over", "5%"], "--fail-over: only `compare` uses it"),
        (["idle", "--attach", "http://127.0.0.1:9"], "--attach: measures what runs, so leave out 'idle'"),
        (["--attach", "http://127.0.0.1:9", "--runners", "3"], "--runners: has no meaning with --attach"),
        (["compare", "a.json", "b.json", "--fail-over", "much"], "--fail-over: 'much' is not a percentage"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_two(
    arguments: list[str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(to_json(lab_document(result("fixed", 30.0))))
    assert main(["lab", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("mockgitea lab: ")
    assert text in error
    assert error.count("\n") == 1


def test_a_control_port_that_is_no_url_is_named_by_its_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "--attach", "nowhere"]) == 1
    assert capsys.readouterr().err.startswith("mockgitea lab: --attach: 'nowhere' is not a URL")


def test_a_control_port_where_nobody_listens_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "--attach", "http://127.0.0.1:9"]) == 1
    complaint = capsys.readouterr().err
    assert complaint.startswith("mockgitea lab: ")
    assert complaint.count("\n") == 1


def test_a_wrong_field_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.yaml").write_text(TINY.replace("runners: 2", "runners: many"))
    assert main(["lab", str(tmp_path / "bad.yaml")]) == 2
    assert "fleet.runners: must be a whole number" in capsys.readouterr().err


def test_compare_fails_only_when_something_became_worse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(to_json(lab_document(result("fixed", 30.0))))
    new.write_text(to_json(lab_document(result("fixed", 36.0))))
    assert main(["lab", "compare", str(old), str(new)]) == 1
    assert "WORSE  fixed: all requests: 30.00 -> 36.00" in capsys.readouterr().out
    assert main(["lab", "compare", str(old), str(new), "--fail-over", "25%"]) == 0
    assert main(["lab", "compare", str(new), str(old)]) == 0


@pytest.mark.parametrize(("place", "why"), [("no/out.json", "there is no folder"), (".", "is a folder")])
def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(
    place: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)
    assert main(["lab", str(tmp_path / "tiny.yaml"), "--json", str(tmp_path / place)]) == 2
    seen = capsys.readouterr()
    assert "--json: cannot write" in seen.err
    assert why in seen.err
    assert seen.out == ""


FILLING = """
fleet: {runners: 1, capacity: 100, running_tasks: 100}
workload: {shape: silent}
strategies: [{name: fixed}]
warm_up_s: 120
duration_s: 10
"""


def test_a_rate_that_is_not_what_arithmetic_says_is_told_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One task every two seconds: sixty of a hundred run when the window begins, and those report."""
    (tmp_path / "filling.yaml").write_text(FILLING)
    assert main(["lab", str(tmp_path / "filling.yaml")]) == 1
    seen = capsys.readouterr()
    assert "✗" in seen.out
    assert "differs from its closed form: filling / fixed: reports measured" in seen.err
    assert "expected 200 to 200/s" in seen.err
