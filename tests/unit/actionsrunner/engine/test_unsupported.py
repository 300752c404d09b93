from typing import Any

import pytest

from actionsrunner.engine.plan import parse_plan
from actionsrunner.engine.unsupported import find_container_label, find_unsupported, label_names
from actionswire.expressions import Value
from actionswire.labels import Label


def found(steps: str = "[{run: x}]", *, container: Value = None, services: Value = None) -> str | None:
    plan = parse_plan(f"jobs: {{a: {{steps: {steps}}}}}".encode())
    return find_unsupported(plan, container=container, services=services)


def test_find_unsupported_passes_a_plain_job() -> None:
    assert found(container="", services={}) is None


@pytest.mark.parametrize(
    ("uses", "kind"),
    [
        ("actions/checkout@v4", "a remote action"),
        ("https://x/y/z@v1", "a remote action"),
        ("./local", "a local action"),
        ("docker://alpine", "a container action"),
    ],
)
def test_find_unsupported_names_the_step(uses: str, kind: str) -> None:
    message = found(f"[{{run: x}}, {{id: two, uses: '{uses}'}}]")
    assert message is not None
    assert message.startswith(f"steps[1] (id `two`).uses is not supported (`{uses}`, {kind})")


def test_find_unsupported_names_container_services_and_reuse() -> None:
    assert "jobs.a.container" in str(found(container={"image": "x"}))
    assert "jobs.a.services" in str(found(services={"db": {}}))
    plan = parse_plan(b"jobs: {a: {uses: ./x.yaml}}")
    assert "jobs.a.uses" in str(find_unsupported(plan, container=None, services=None))


@pytest.mark.parametrize(
    ("runs_on", "names"),
    [
        ("a", ["a"]),
        (["a", 1, "b"], ["a", "b"]),
        ({"group": "g", "labels": ["a"]}, ["a", "g"]),
        (None, []),
        (3, []),
    ],
)
def test_label_names_reads_every_form(runs_on: Any, names: list[str]) -> None:
    assert list(label_names(runs_on)) == names


def test_find_container_label_takes_the_first_label_that_the_runner_has() -> None:
    labels = (Label("host"), Label("ubuntu", "docker", "//node"))
    assert find_container_label(["ubuntu"], labels) is not None
    assert find_container_label(["host", "ubuntu"], labels) is None
    assert find_container_label(["other"], labels) is None
    assert find_container_label([], labels) is None
