"""The example workflows: they load, all their expressions parse, and the overview lists each of them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from actionswire.expressions import Value, contexts_used, uses_status_function
from actionswire.workflow_yaml import dump, load

EXAMPLES = Path(__file__).parents[3] / "examples"
FILES = sorted((EXAMPLES / "workflows").glob("*.yml"))
CONTEXTS = {"github", "env", "vars", "secrets", "job", "steps", "runner", "strategy", "matrix", "needs", "inputs"}
LABELS = {"ubuntu-latest", "host"}
EXPECTATION = re.compile(r"# expect: (success|failure)\n# [A-Z]")


def texts(value: Value, path: str) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of every text in the workflow."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from texts(item, f"{path}.{key}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from texts(item, f"{path}[{number}]")


def workflow(file: Path) -> dict[str, Value]:
    loaded = load(file.read_bytes())
    assert isinstance(loaded, dict)
    return loaded


def jobs(file: Path) -> dict[str, Value]:
    found = workflow(file)["jobs"]
    assert isinstance(found, dict)
    return found


def test_examples_are_there() -> None:
    assert len(FILES) >= 12


each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


@each_file
def test_example_starts_with_its_expected_result_and_a_sentence(file: Path) -> None:
    assert EXPECTATION.match(file.read_text(encoding="utf-8"))


@each_file
def test_example_is_named_like_its_file(file: Path) -> None:
    assert workflow(file)["name"] == file.stem


@each_file
def test_example_expressions_parse_and_name_real_contexts(file: Path) -> None:
    for path, text in texts(workflow(file), file.stem):
        if path.endswith(".if"):
            uses_status_function(text)
            assert contexts_used(text) <= CONTEXTS, path
        elif "${{" in text:
            assert contexts_used(text) <= CONTEXTS, path
            assert text.count("${{") == text.count("}}"), path


@each_file
def test_example_needs_only_what_a_plain_host_has(file: Path) -> None:
    for name, job in jobs(file).items():
        assert isinstance(job, dict)
        assert job["runs-on"] in LABELS, name
        assert {"container", "services", "uses"}.isdisjoint(job), name
        assert isinstance(job["steps"], list)
        for step in job["steps"]:
            assert isinstance(step, dict)
            assert "run" in step, name
            assert step.get("shell", "bash") in ("bash", "sh", "python3 {0}"), name


@each_file
def test_example_needs_and_steps_that_expressions_name_exist(file: Path) -> None:
    known = jobs(file)
    for name, job in known.items():
        assert isinstance(job, dict)
        needs = job.get("needs", [])
        needed = {needs} if isinstance(needs, str) else set(needs) if isinstance(needs, list) else set()
        assert needed <= set(known), name
        steps = job["steps"]
        assert isinstance(steps, list)
        ids = {step.get("id") for step in steps if isinstance(step, dict)}
        for path, text in texts(job, name):
            assert set(re.findall(r"\bneeds\.([a-z]+)", text)) <= needed, path
            assert set(re.findall(r"\bsteps\.([a-z]+)", text)) <= ids, path


@each_file
def test_example_survives_being_written_again(file: Path) -> None:
    assert load(dump(workflow(file))) == workflow(file)


def test_overview_lists_every_example_with_its_result() -> None:
    overview = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    listed = dict(
        re.findall(r"^\| \[[a-z-]+\]\(workflows/([a-z-]+)\.yml\) .*\| \*{0,2}(\w+)\*{0,2} \|$", overview, re.M)
    )
    expected = {file.stem: file.read_text(encoding="utf-8").split("\n")[0].removeprefix("# expect: ") for file in FILES}
    assert listed == expected
