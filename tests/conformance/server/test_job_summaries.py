"""Job summaries: PUT beside the artifact service, and what the page shows of them."""

from typing import Any

import jwt
import pytest

from actionswire.gen.runner.v1 import runner_pb2 as pb
from profiles import every_profile_but, holds_for
from rawhttp import Reply
from serverproc import Identity, Mock

TWO = """
on: push
jobs:
  a:
    name: first
    runs-on: linux
    steps: [{run: 'true'}, {run: 'true'}]
"""
TAKES = ("gitea-1.27", "gitea-next")
LIMIT = 1024 * 1024
TEXT = ("Content-Type", "text/markdown")


class Writer:
    """A running task and what its runner may send for it."""

    def __init__(self, mock: Mock) -> None:
        self.mock = mock
        self.runner: Identity = mock.runner()
        self.run_id = int(mock.enqueue(TWO)["run_id"])
        self.task = mock.take(self.runner)
        context = self.task.context.fields
        self.bearer = context["gitea_runtime_token"].string_value
        self.plain_token = context["token"].string_value
        self.job_id = int(jwt.decode(self.bearer, options={"verify_signature": False})["JobID"])

    def put(
        self, body: bytes, *, step: object = 0, run: object = None, job: object = None, bearer: str | None = None,
        fields: tuple[tuple[str, str], ...] = (TEXT,),
    ) -> Reply:  # fmt: skip
        run, job = self.run_id if run is None else run, self.job_id if job is None else job
        path = f"/api/actions_pipeline/_apis/pipelines/workflows/{run}/jobs/{job}/steps/{step}/summary"
        sign = self.bearer if bearer is None else bearer
        headers = [*fields, *([("Authorization", f"Bearer {sign}")] if sign else [])]
        return self.mock.http("PUT", path, headers, body)

    def shown(self) -> list[Any]:
        page = self.mock.web(f"/demo/demo/actions/runs/{self.run_id}", {}).json()
        return list(page["state"]["run"].get("jobSummaries", []))

    def ends(self, result: "pb.Result") -> None:
        self.mock.update(self.runner, self.task.id, result=result)


@pytest.fixture
def writer(mock: Mock) -> Writer:
    return Writer(mock)


@holds_for(*TAKES)
def test_summary_is_stored_replaced_and_cleared(writer: Writer) -> None:
    assert writer.shown() == []
    stored = writer.put(b"# One")
    assert (stored.status, stored.json()["message"], stored.json()["sizeBytes"]) == (200, "success", 5)
    assert stored.json()["runAttempt"] >= 1
    assert writer.put(b"**two**", step=1, fields=()).status == 200
    html = "<h1>One</h1>\n<p><strong>two</strong></p>\n"
    assert writer.shown() == [{"jobId": writer.job_id, "jobName": "first", "summaryHTML": html}]
    assert writer.put(b"three", step=1, fields=(("Content-Type", "application/octet-stream"),)).status == 200
    assert writer.put(b"").json()["message"] == "cleared"
    assert writer.shown()[0]["summaryHTML"] == "<p>three</p>\n"
    assert writer.put(b"", step=1).json() == {
        "message": "cleared",
        "sizeBytes": 0,
        "runAttempt": stored.json()["runAttempt"],
    }
    assert writer.shown() == []


@holds_for(*TAKES)
def test_summary_survives_the_end_of_its_job_and_takes_no_more(writer: Writer) -> None:
    writer.put(b"kept")
    writer.ends(pb.RESULT_SUCCESS)
    late = writer.put(b"late")
    assert (late.status, late.header("content-type")) == (500, "text/plain; charset=utf-8")
    assert writer.shown()[0]["summaryHTML"] == "<p>kept</p>\n"


@holds_for(*TAKES)
def test_rerun_begins_without_the_summary_of_the_attempt_before(mock: Mock, writer: Writer) -> None:
    writer.put(b"first attempt")
    writer.ends(pb.RESULT_SUCCESS)
    mock.settle()
    mock.control("POST", f"/runs/{writer.run_id}/rerun")
    assert writer.shown() == []
    old = mock.web(f"/demo/demo/actions/runs/{writer.run_id}/attempts/1", {}).json()
    assert old["state"]["run"]["jobSummaries"][0]["summaryHTML"] == "<p>first attempt</p>\n"


@holds_for(*TAKES)
def test_token_stands_for_its_task_while_it_runs(mock: Mock, writer: Writer) -> None:
    """A task that is being cancelled is written to with its plain token only."""
    assert writer.put(b"x", bearer=writer.plain_token).status == 200
    mock.call(
        "Declare", pb.DeclareRequest(labels=["linux"], capabilities=["cancelling"]), pb.DeclareResponse, writer.runner
    )
    mock.control("POST", f"/runs/{writer.run_id}/cancel")
    assert mock.job(writer.run_id, "a")["status"] == "cancelling"
    assert writer.put(b"signed").status == 500
    assert writer.put(b"plain", bearer=writer.plain_token).status == 200
    writer.ends(pb.RESULT_CANCELLED)
    assert writer.put(b"late", bearer=writer.plain_token).status == 500
    assert writer.shown()[0]["summaryHTML"] == "<p>plain</p>\n"


@holds_for(*TAKES)
@pytest.mark.parametrize(
    ("change", "status", "word"),
    [
        ({"bearer": ""}, 401, "Bad authorization header"),
        ({"bearer": "0" * 40}, 500, ""),
        ({"bearer": "a.b.c"}, 500, ""),
        ({"bearer": "x" * 10_000}, 500, ""),
        ({"run": 999}, 400, "run_id"),
        ({"run": "x"}, 400, "run_id"),
        ({"job": 999}, 400, "job_id"),
        ({"job": "1" * 30}, 400, "job_id"),
        ({"step": 2}, 400, "step_index"),
        ({"step": -1}, 400, "step_index"),
        ({"fields": (("Content-Type", "text/html"),)}, 400, "content-type"),
    ],
)
def test_bad_summary_is_refused_in_words(writer: Writer, change: dict[str, Any], status: int, word: str) -> None:
    refused = writer.put(b"x", **change)
    assert (refused.status, refused.header("content-type")) == (status, "text/plain; charset=utf-8")
    assert word in refused.body.decode()
    assert writer.shown() == []


@holds_for(*TAKES)
@pytest.mark.parametrize("claims", [{"TaskID": "1"}, {"TaskID": None}, {}, {"exp": "soon"}])
def test_token_of_another_signer_is_refused(writer: Writer, claims: dict[str, Any]) -> None:
    forged = jwt.encode({"TaskID": writer.task.id, "nbf": 0, "exp": 1 << 40, **claims}, "x" * 64, algorithm="HS256")
    assert writer.put(b"x", bearer=forged).status == 500
    unsigned = jwt.encode({"TaskID": writer.task.id, "nbf": 0, "exp": 1 << 40}, None, algorithm="none")
    assert writer.put(b"x", bearer=unsigned).status == 500


@holds_for(*TAKES)
def test_size_is_limited_for_a_step_and_for_the_job(writer: Writer) -> None:
    assert writer.put(b"x" * (LIMIT + 1)).status == 400
    assert writer.put(b"x" * (LIMIT - 10)).status == 200
    assert writer.put(b"x" * 11, step=1).status == 400
    assert writer.put(b"x" * 10, step=1).status == 200
    assert writer.shown()[0]["summaryHTML"].startswith("<pre>xxx")


@holds_for(*TAKES)
@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "<a href='x' onclick=y>z</a>",
    ],
)
def test_summary_cannot_bring_its_own_html(mock: Mock, writer: Writer, hostile: str) -> None:
    writer.put(hostile.encode() + b"\n\nbad \xff byte")
    (shown,) = writer.shown()
    html = shown["summaryHTML"]
    assert "<script" not in html
    assert "<img" not in html
    assert "<a " not in html
    assert "\N{REPLACEMENT CHARACTER} byte" in html
    page = mock.http("GET", f"/demo/demo/actions/runs/{writer.run_id}").body.decode()
    assert html in page


@every_profile_but(*TAKES)
def test_other_servers_have_no_such_path(mock: Mock) -> None:
    missing = mock.http("PUT", "/api/actions_pipeline/_apis/pipelines/workflows/1/jobs/1/steps/0/summary", [TEXT], b"x")
    assert missing.status == 404
