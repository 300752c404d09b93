"""Workflow files made of noise: a clear refusal or a run, never a crash, an endless parse or a blocked queue."""

import string
import time
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from fuzzserver import FuzzServer
from serverproc import Mock

GOOD = "on: push\njobs:\n  good:\n    runs-on: linux\n    steps:\n      - run: echo\n"
EXPRESSIONS = st.sampled_from(
    [
        "${{ github.ref }}", "${{ always() }}", "${{ fromJSON('[1,2]') }}", "${{ needs.a.outputs.x }}", "${{", "}}",
        "${{ matrix.n }}", "${{ format('{0}{1', 1) }}", "${{ hashFiles('**') }}", "${{ 1 / 0 }}",
        "${{ fromJSON('{') }}",
        "${{ toJSON(github) }}", "${{ secrets.X }}", "${{ inputs['a'] }}", "${{ (((((1))))) }}", "${{ 'a' && }}",
    ]
)  # fmt: skip
KEYS = st.sampled_from(
    [
        "on", "jobs", "a", "b", "needs", "if", "runs-on", "strategy", "matrix", "include", "exclude", "max-parallel",
        "fail-fast", "steps", "run", "uses", "env", "outputs", "concurrency", "group", "cancel-in-progress", "name",
        "defaults", "timeout-minutes", "continue-on-error", "container", "services", "permissions", "with", "secrets",
        "push", "pull_request", "workflow_dispatch", "inputs", "branches", "types", "schedule", "cron", "default",
    ]
)  # fmt: skip
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | EXPRESSIONS
    | st.dates()
    | st.sampled_from(["linux", "push", "a", "b", 10**400, "x" * 3000])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=5) | SCALARS, inner, max_size=5)
    ),
    max_leaves=15,
)
JOBS = st.fixed_dictionaries(
    {"runs-on": st.just("linux") | VALUES, "steps": st.just([{"run": "echo"}]) | VALUES},
    optional={
        "needs": st.sampled_from(["a", "b", "c", ["a", "b"], []]) | VALUES,
        "if": EXPRESSIONS | SCALARS,
        "strategy": VALUES | st.fixed_dictionaries({"matrix": VALUES | EXPRESSIONS | st.dictionaries(KEYS, VALUES)}),
        "env": VALUES, "outputs": VALUES, "concurrency": VALUES, "name": SCALARS, "timeout-minutes": SCALARS,
        "continue-on-error": SCALARS, "container": VALUES, "uses": SCALARS, "defaults": VALUES, "with": VALUES,
    },
)  # fmt: skip
WORKFLOWS = st.fixed_dictionaries(
    {"on": st.just("push") | VALUES, "jobs": st.dictionaries(st.sampled_from("abc"), JOBS | VALUES, max_size=3)},
    optional={"name": SCALARS, "env": VALUES, "concurrency": VALUES, "defaults": VALUES, "permissions": VALUES},
)


def enqueue(server: FuzzServer, text: str) -> Any:
    """Hand the file in; the answer is a run, or a refusal that names a field."""
    body = {"workflow": text, "workflow_file": "ci.yml", "repository": "demo/demo"}
    reply = server.mock.control_reply("POST", "/enqueue", body)
    # An empty text names the file that the repository has, which there may not be.
    assert reply.status in ({201, 400, 409, 422} if text else {201, 404, 400}), (reply.status, reply.body[:2000])
    if reply.status != 201:
        error = reply.json()["error"]
        assert error["message"], error
        assert "Traceback" not in error["message"], error
        return None
    return reply.json()


def drain(mock: Mock, server: FuzzServer) -> None:
    """Fetch and end what a run has, so that payloads are built; then a good job must still come through."""
    for _ in range(8):
        answer = mock.fetch(server.worker)
        if not answer.HasField("task"):
            return
        mock.update(server.worker, answer.task.id, result=1)
        mock.settle()


def check_queue(server: FuzzServer, made: Any) -> None:
    """Assert that the queue is not blocked, and that pages of the run can be shown."""
    mock = server.mock
    drain(mock, server)
    for path in (f"/runs/{made['run_id']}", f"/runs/{made['run_id']}/jobs/{made['jobs'][0]['id']}"):
        page = mock.http("GET", f"/demo/demo/actions{path}")
        assert page.status in {200, 404}, page
    mock.control("POST", f"/runs/{made['run_id']}/cancel", {"force": True})
    good = mock.enqueue(GOOD)
    taken = mock.fetch(server.worker)
    assert taken.HasField("task"), f"{made} keeps others from being fetched"
    assert taken.task.context["run_id"] == str(good["run_id"])
    mock.update(server.worker, taken.task.id, result=1)


@given(WORKFLOWS)
def test_any_structure_is_a_run_or_a_clear_refusal(server: FuzzServer, workflow: Any) -> None:
    made = enqueue(server, yaml.safe_dump(workflow, sort_keys=False))
    if made is not None and made["jobs"]:
        check_queue(server, made)


@given(st.text(string.printable, max_size=300), st.integers(0, len(GOOD)))
def test_any_text_inside_a_good_file_is_a_run_or_a_clear_refusal(server: FuzzServer, text: str, at: int) -> None:
    for written in (text, GOOD[:at] + text + GOOD[at:]):
        made = enqueue(server, written)
        if made is not None and made["jobs"]:
            check_queue(server, made)


def bombs() -> dict[str, str]:
    """Files that are small and would be huge, deep or slow."""
    laughs = "a0: &a0 [x, x]\n" + "".join(
        f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}, *a{n - 1}]\n" for n in range(1, 30)
    )
    axes = "\n".join(f"        k{n}: [{', '.join(map(str, range(30)))}]" for n in range(8))
    matrix = (
        f"on: push\njobs:\n  a:\n    runs-on: linux\n    strategy:\n      matrix:\n{axes}\n    steps: [{{run: x}}]\n"
    )
    merges = "b0: &b0 {x: 1}\n" + "".join(f"b{n}: &b{n} {{<<: [*b{n - 1}, *b{n - 1}]}}\n" for n in range(1, 25))
    return {
        "laughs": laughs + GOOD, "matrix": matrix, "merges": merges + GOOD, "deep": "on: " + "[" * 100_000,
        "deep-map": "\n".join(" " * n + "a:" for n in range(2000)), "long-number": f"on: push\njobs: {'9' * 200_000}",
        "self": "on: push\njobs: &j\n  a: *j\n", "self-env": "on: push\nenv: &e\n  X: *e\njobs: {}\n",
        "expression": GOOD + "    if: ${{ " + "(" * 20_000 + "1" + ")" * 20_000 + " }}\n",
        "operators": GOOD + "    if: ${{ " + "!" * 50_000 + "1 }}\n",
        "chain": GOOD + "    if: ${{ " + " && ".join(["1"] * 50_000) + " }}\n",
        "index": GOOD + "    if: ${{ github" + "['x']" * 50_000 + " }}\n",
        "sexagesimal": "on: push\njobs: " + "1:" * 100_000 + "1", "tag": "!!python/object/apply:os.system ['true']",
        "anchors": "on: push\njobs:\n" + "".join(f"  j{n}: &x{n}\n    runs-on: a\n" for n in range(5000)),
        "needs": "on: push\njobs:\n" + "".join(
            f"  j{n}:\n    runs-on: a\n    steps: [{{run: x}}]\n    needs: [{', '.join(f'j{m}' for m in range(n))}]\n"
            for n in range(200)
        ),
        "control": "on: push\njobs:\n  a: \x07", "utf16": "\ufeff" + GOOD, "nul": "\0",
        "crlf": GOOD.replace("\n", "\r\n"),
        "spaces": "on: push" + " " * 900_000, "comments": "#\n" * 400_000 + GOOD,
    }  # fmt: skip


def test_small_files_that_would_be_huge_are_answered_quickly(server: FuzzServer) -> None:
    for name, text in bombs().items():
        began = time.monotonic()
        made = enqueue(server, text)
        taken_s = time.monotonic() - began
        print(f"{name}: {taken_s:.2f} s, {'refused' if made is None else made['status']}")
        assert taken_s < 15, name
        if made is not None:
            server.mock.control("POST", f"/runs/{made['run_id']}/cancel", {"force": True})
    assert server.mock.ping("x") == "Hello, x!"
