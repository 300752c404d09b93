from pathlib import Path

import pytest

from labdocs import lab_document, result
from mockgitea.lab.compare import NotComparable, compare, read_document
from mockgitea.lab.suite import to_json


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
        (lab_document(result("fixed", 3.0, runners=9)), "runners differs"),
    ],
)
def test_documents_that_do_not_belong_together_are_refused(after: dict[str, object], text: str) -> None:
    with pytest.raises(NotComparable, match=text):
        compare(lab_document(result("fixed", 30.0)), after, fail_over=0.1)


def test_a_document_survives_its_file(tmp_path: Path) -> None:
    content = lab_document(result("fixed", 30.0))
    (tmp_path / "a.json").write_text(to_json(content))
    assert read_document(tmp_path / "a.json") == content


@pytest.mark.parametrize(("text", "told"), [("{", "as JSON"), ("[]", "not written by"), ("{}", "not written by")])
def test_other_files_are_refused(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(NotComparable, match=told):
        read_document(tmp_path / "a.json")
    with pytest.raises(NotComparable, match="cannot be read"):
        read_document(tmp_path / "missing.json")
