import json
from pathlib import Path
from typing import Any

import pytest

from labdocs import lab_document, result
from mockgitea.lab.compare import NotComparable, compare, read_document
from mockgitea.lab.suite import to_json


def changed(**setup: object) -> dict[str, Any]:
    one = result("fixed", 3.0)
    return {**one, "setup": {**one["setup"], **setup}}


def test_equal_documents_do_not_differ() -> None:
    assert compare(lab_document(result("fixed", 30.0)), lab_document(result("fixed", 30.0)), fail_over=0.1) == []


def test_more_than_the_allowance_is_worse_and_less_is_not() -> None:
    before = lab_document(result("fixed", 30.0))
    slightly = compare(before, lab_document(result("fixed", 32.0)), fail_over=0.1)
    assert slightly
    assert not any(change.is_worse for change in slightly)
    much = compare(before, lab_document(result("fixed", 36.0)), fail_over=0.1)
    assert all(change.is_worse for change in much)
    assert "all requests: 30.00 -> 36.00 (+20.0%)" in much[-1].text
    assert not any(change.is_worse for change in compare(before, lab_document(result("fixed", 3.0)), fail_over=0.0))


def test_what_was_zero_may_not_appear() -> None:
    after = lab_document(result("fixed", 30.0, tasks={"reaped": 1, "assigned": 3}))
    (change,) = compare(lab_document(result("fixed", 30.0)), after, fail_over=5.0)
    assert change.figure.name == "tasks_reaped"
    assert change.is_worse


@pytest.mark.parametrize(
    ("after", "text"),
    [
        (lab_document(result("single", 3.0)), "'fixed' is missing"),
        (lab_document(result("fixed", 3.0), name="other"), "scenarios differ"),
        (lab_document(result("fixed", 3.0, runners=9)), r"fixed: fleet\.runners differs \(200 and 9\)"),
        (lab_document(changed(seed=2)), r"fixed: seed differs \(1 and 2\); measure both in the same way"),
        (lab_document(changed(capacity=5)), r"fleet\.capacity differs \(4 and 5\)"),
        (lab_document(changed(time="real")), r"time differs \(virtual and real\)"),
        (lab_document(changed(round_trip_s=0.1)), r"link\.round_trip_s differs"),
        (
            lab_document(result("fixed", 3.0, window={"start_s": 0.0, "end_s": 9.0})),
            r"duration_s differs \(60\.0 and 9",
        ),
    ],
)
def test_documents_that_do_not_belong_together_are_refused(after: dict[str, object], text: str) -> None:
    with pytest.raises(NotComparable, match=text):
        compare(lab_document(result("fixed", 30.0)), after, fail_over=0.1)


def test_a_document_survives_its_file(tmp_path: Path) -> None:
    content = lab_document(result("fixed", 30.0))
    (tmp_path / "a.json").write_text(to_json(content))
    assert read_document(tmp_path / "a.json") == content


HEAD = '{"kind": "mockgitea-lab", "format": 1, "scenario": "x", "results": '


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "as JSON"),
        ("[" * 100_000, "as JSON"),
        ("\xff", "cannot be read"),
        ("[]", "not written by"),
        ("{}", "not written by"),
        ('{"kind": "mockgitea-lab", "format": 99}', r"format 99, this version reads 1; measure again"),
        ('{"kind": "mockgitea-lab", "format": 1}', "incomplete: no scenario or no results"),
        (HEAD + "[]}", "incomplete"),
        (HEAD + "[3]}", r"results\[0\] is incomplete at setup"),
        (HEAD + '[{"strategy": "fixed", "setup": {}}]}', r"results\[0\] is incomplete at setup"),
        (HEAD + "[NaN]}", "NaN is no number"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "a.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(NotComparable, match=told):
        read_document(tmp_path / "a.json")


def test_a_document_that_lacks_a_figure_is_named_with_it(tmp_path: Path) -> None:
    content = lab_document(result("fixed", 30.0))
    del content["results"][0]["heartbeat"]
    (tmp_path / "a.json").write_text(json.dumps(content))
    with pytest.raises(NotComparable, match=r"a\.json: results\[0\] is incomplete at heartbeat_worst"):
        read_document(tmp_path / "a.json")


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_what_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotComparable, match="cannot be read"):
        read_document(tmp_path / name)
