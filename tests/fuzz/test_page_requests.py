"""The page and its polling JSON under noise: cursors, bodies and URLs; 500 only where real servers answer it too."""

import json
import re
from collections import Counter
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzserver import FuzzServer, fuzz_server
from rawhttp import Connection

INTEGERS = st.integers(-3, 12) | st.integers() | st.sampled_from([2**31, 2**63 - 1, 2**63, -(2**63)])
LOOSE = st.none() | st.booleans() | INTEGERS | st.floats() | st.text(max_size=8) | st.just([]) | st.just({})
CURSORS = st.fixed_dictionaries(
    {}, optional={"step": INTEGERS | LOOSE, "cursor": INTEGERS | LOOSE, "expanded": st.booleans() | LOOSE}
)
BODIES = st.fixed_dictionaries({"logCursors": st.lists(CURSORS | LOOSE, max_size=6) | LOOSE}) | LOOSE
RAW_PARTS = ("%2e%2e", "%00", "%ff", "%2f")
PARTS = (
    st.sampled_from(RAW_PARTS)
    | st.text(max_size=12)
    | st.sampled_from(["demo", "runs", "1", "0", "-1", "jobs", "logs", "attempt", "latest", "..", "²", "9" * 30])
)


PAGES = {
    "gitea-1.27": "/demo/demo/actions/runs/{run_id}/jobs/{job_id}",
    "gitea-1.21": "/demo/demo/actions/runs/1/jobs/0",
    "forgejo-15": "/demo/demo/actions/runs/1/jobs/0/attempt/1",
}


def prepare(server: FuzzServer) -> str:
    """Make a task that has rows, and return the path of its page."""
    task_id = server.task()
    server.mock.append(server.worker, task_id, 0, [f"row {number}" for number in range(30)])
    run = server.mock.run(1)
    return PAGES[server.mock.profile].format(run_id=run["id"], job_id=run["jobs"][0]["id"])


def csrf(server: FuzzServer, page: str) -> list[tuple[str, str]]:
    """The header that older pages send; harmless elsewhere."""
    found = re.search(rb'name="_csrf" content="(\w+)"', server.mock.http("GET", page).body)
    return [("x-csrf-token", found.group(1).decode())] if found else []


@pytest.mark.parametrize("profile", PAGES)
def test_any_poll_of_a_page_is_answered(profile: str) -> None:
    with fuzz_server(profile) as server:
        page = prepare(server)
        headers = [("content-type", "application/json"), *csrf(server, page)]
        answered: Counter[int] = Counter()

        @given(BODIES.map(json.dumps).map(str.encode) | st.binary(max_size=60))
        def poll(body: bytes) -> None:
            reply = server.mock.http("POST", page, headers, body)
            answered[reply.status] += 1
            assert reply.status in {200, 400, 404, 413, 500}, reply
            assert b"internal error" not in reply.body, reply
            if reply.status == 500:
                assert b"step" in reply.body, reply  # a step that is not there, as on real servers

        poll()
        assert answered[200], answered
        server.check()


@pytest.mark.parametrize("profile", PAGES)
def test_any_path_and_verb_is_answered(profile: str) -> None:
    with fuzz_server(profile) as server:
        page = prepare(server)
        bases = st.sampled_from([page, "/demo/demo/actions", "/demo/demo", "/api/v1", "/api/actions", "/assets", ""])

        @given(
            base=bases, parts=st.lists(PARTS, max_size=4), query=st.text(max_size=20),
            verb=st.sampled_from(["GET", "POST", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"]),
        )  # fmt: skip
        def ask(base: str, parts: list[str], query: str, verb: str) -> None:
            path = "/".join([base, *(part if part in RAW_PARTS else quote(part, safe="") for part in parts)]) or "/"
            reply = server.mock.http(verb, f"{path}?{quote(query)}")
            assert b"internal error" not in reply.body, reply
            assert reply.status < 500, reply

        ask()
        server.check()


@given(
    base=st.sampled_from(["/runs", "/runs/1", "/runs/1/jobs/1", "/runners", "/assets/mockgitea", "/", ""]),
    parts=st.lists(PARTS, max_size=3), query=st.dictionaries(st.sampled_from(["before", "repository"]), PARTS),
)  # fmt: skip
def test_any_path_of_our_own_page_is_answered(
    server: FuzzServer, base: str, parts: list[str], query: dict[str, str]
) -> None:
    path = "/".join([base, *(part if part in RAW_PARTS else quote(part, safe="") for part in parts)]) or "/"
    with Connection(server.process.control_host, server.process.control_port) as connection:
        reply = connection.request("GET", f"{path}?{urlencode(query)}")
    assert reply.status < 500, reply


HOSTILE = """<script>alert(1)</script>"><img src=x onerror=alert(2)>'&{{7*7}}"""
HOSTILE_PATH = quote(HOSTILE, safe="")


def test_hostile_names_and_rows_never_become_markup(server: FuzzServer) -> None:
    quoted = json.dumps(HOSTILE)
    workflow = (
        f"name: {quoted}\non: push\njobs:\n  j:\n    name: {quoted}\n    runs-on: linux\n    steps:\n"
        f"      - name: {quoted}\n        run: echo\n"
    )
    mock = server.mock
    made = mock.enqueue(workflow, title=HOSTILE, actor=HOSTILE, workflow_file="<b>x<!--.yml", head_ref="<i>")
    mock.runner(name=HOSTILE, labels=[HOSTILE], description=HOSTILE)
    task = mock.take(server.worker)
    mock.append(server.worker, task.id, 0, [HOSTILE, "::error::" + HOSTILE])
    run_id, job_id = made["run_id"], made["jobs"][0]["id"]
    runner_page = f"/demo/demo/actions/runs/{run_id}/jobs/{job_id}"
    pages = [
        mock.http("GET", path) for path in (runner_page, f"/demo/demo/actions/runs/{run_id}", "/demo/demo/actions")
    ]
    with Connection(server.process.control_host, server.process.control_port) as connection:
        own = ["/", "/runners", f"/runs/{run_id}", f"/runs/{run_id}/jobs/{job_id}", f"/runs/{HOSTILE_PATH}"]
        pages += [connection.request("GET", path) for path in own]
        own_log = connection.request("GET", f"/runs/{run_id}/jobs/{job_id}/logs")
    for page in pages:
        assert page.header("content-security-policy") or page.header("content-type") == "application/json", page
        for mark in (b"<script>alert", b"<img src=x", b"<b>x", b"<i>", b"49}"):
            assert mark not in page.body, (mark, page.body.decode())
    poll = mock.web(runner_page, {"logCursors": [{"step": 1, "cursor": None, "expanded": True}]})
    assert poll.header("content-type") == "application/json"
    for log in (mock.http("GET", f"{runner_page}/logs"), own_log):
        assert log.status == 200
        assert log.header("content-type") == "text/plain; charset=utf-8"
        assert log.header("x-content-type-options") == "nosniff"
        disposition = log.header("content-disposition") or ""
        assert disposition.startswith("attachment; filename="), disposition
        assert "<" not in disposition.partition("filename*=")[2]
