"""Our pages on the control port: escaping of hostile content, headers, JSON twins, polling by row ids."""

import re
from importlib import resources
from typing import Any

import pytest

from actionswire.result import Status
from mockgitea.ui.pages import build_pages
from pagedata import START_US, Seed, page_client, page_services, run_async

HOSTILE = '</title><script>alert("x")</script><img src=x onerror=\'alert(1)\'> & "q"'
PROFILES = ("gitea-1.20", "gitea-1.25", "gitea-1.27", "forgejo-11", "forgejo-15")


def hostile(seed: Seed) -> dict[str, int]:
    repo = seed.repository("demo", "app")
    run = seed.run(
        repo, number=3, title=HOSTILE, workflow_file=f"{HOSTILE}.yaml", actor=HOSTILE, ref=f"refs/heads/{HOSTILE}"
    )
    seed.attempt(run)
    job = seed.job(run, name=HOSTILE, job_id=HOSTILE, needs=[HOSTILE], runs_on=[HOSTILE])
    task = seed.task(job)
    seed.step(task, 0, name=HOSTILE, status=int(Status.RUNNING), log_index=0, log_length=1, started_us=START_US)
    seed.rows(task, 0, [HOSTILE])
    seed.runner(name=HOSTILE, labels=[HOSTILE], version=HOSTILE)
    return {"run": run, "job": job}


@pytest.mark.parametrize("profile", PROFILES)
def test_pages_escape_hostile_names_and_say_that_they_are_a_mock(profile: str) -> None:
    async def test() -> None:
        async with page_client(page_services(profile), build_pages, hostile) as (client, ids):
            for path in ("/", "/runners", f"/runs/{ids['run']}", f"/runs/{ids['run']}/jobs/{ids['job']}"):
                page = await client.get(path)
                assert page.status_code == 200, page.text
                assert not re.search(r"<script>|<img", page.text)
                assert "&lt;script&gt;alert(" in page.text
                assert "A mock, not a real server" in page.text
                assert profile in page.text

    run_async(test)


def test_pages_forbid_inline_script_and_caching() -> None:
    async def test() -> None:
        async with page_client(page_services("gitea-1.27"), build_pages, hostile) as (client, _):
            headers = (await client.get("/")).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "script-src 'self'" in policy
            assert "unsafe" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] == "no-store"

    run_async(test)


def test_every_page_has_a_json_twin_with_the_same_facts() -> None:
    async def test() -> None:
        async with page_client(page_services("gitea-1.27"), build_pages, hostile) as (client, ids):
            runs = (await client.get("/runs.json")).json()
            assert [run["name"] for run in runs["runs"]] == [HOSTILE]
            run = (await client.get(f"/runs/{ids['run']}.json")).json()
            assert (run["run"]["status"], run["jobs"][0]["needs"]) == ("running", [HOSTILE])
            job = (await client.get(f"/runs/{ids['run']}/jobs/{ids['job']}.json")).json()
            assert [step["name"] for step in job["steps"]] == ["Set up job", HOSTILE, "Complete job"]
            runners = (await client.get("/runners.json")).json()
            assert runners["runners"][0]["status"] == "offline"
            assert "token" not in str(runners)

    run_async(test)


@pytest.mark.parametrize("profile", PROFILES)
def test_job_that_no_runner_ever_saw_says_why_it_failed(profile: str) -> None:
    def spoilt(seed: Seed) -> dict[str, int]:
        run = seed.run(seed.repository("demo", "app"), number=3)
        seed.attempt(run)
        return {"run": run, "job": seed.job(run, status=int(Status.FAILURE), failure_reason="runs-on: <empty>")}

    async def test() -> None:
        async with page_client(page_services(profile), build_pages, spoilt) as (client, ids):
            for path in (f"/runs/{ids['run']}", f"/runs/{ids['run']}/jobs/{ids['job']}"):
                assert "runs-on: &lt;empty&gt;" in (await client.get(path)).text
            polled = (await client.post(f"/runs/{ids['run']}/jobs/{ids['job']}", json={})).json()
            assert "runs-on: " in str(polled["state"]["currentJob"])

    run_async(test)


@pytest.mark.parametrize("profile", PROFILES)
def test_poll_on_control_port_names_runs_and_jobs_by_row_ids_in_every_profile(profile: str) -> None:
    async def test() -> None:
        async with page_client(page_services(profile), build_pages, hostile) as (client, ids):
            path = f"/runs/{ids['run']}/jobs/{ids['job']}"
            answer = (await client.post(path, json={"logCursors": [{"step": 1, "expanded": True}]})).json()
            assert answer["logs"]["stepsLog"][0]["lines"][0]["message"] == HOSTILE
            summary = (await client.post(f"/runs/{ids['run']}", json={})).json()
            assert summary["state"]["currentJob"]["steps"] is None
            assert (await client.post(path, json={}, headers={"Origin": "http://evil.test"})).status_code == 403

    run_async(test)


@pytest.mark.parametrize(
    "path",
    [
        "/runs/99",
        "/runs/x",
        f"/runs/{10**30}",
        "/runs/1/jobs/99",
        f"/runs/1/jobs/{10**30}",
        "/runs/99.json",
        "/?repository=no/such",
    ],
)
def test_unknown_things_answer_404_and_say_what_is_missing(path: str) -> None:
    async def test() -> None:
        async with page_client(page_services("gitea-1.27"), build_pages, hostile) as (client, _):
            missing = await client.get(path)
            assert missing.status_code == 404
            assert re.search(r"(run|job|repository): ", missing.text)

    run_async(test)


def test_run_list_goes_on_with_older_runs_and_keeps_the_filter() -> None:
    def fill(seed: Seed) -> None:
        repo = seed.repository()
        for number in range(1, 61):
            seed.run(repo, number=number)

    async def test() -> None:
        async with page_client(page_services("gitea-1.27"), build_pages, fill) as (client, _):
            newest = (await client.get("/runs.json?repository=demo/app")).json()
            assert [run["number"] for run in newest["runs"]] == list(range(60, 10, -1))
            page = (await client.get("/?repository=demo/app")).text
            older = re.search(r'href="(/\?[^"]*)">Older', page)
            assert older is not None
            assert "repository=demo" in older[1]
            rest = await client.get(older[1].replace("&amp;", "&"))
            assert "#10 " in rest.text
            assert "Older runs" not in rest.text

    run_async(test)


def test_assets_are_served_and_nothing_else() -> None:
    async def test() -> None:
        async with page_client(page_services("gitea-1.27"), build_pages, hostile) as (client, _):
            page = (await client.get("/runs/1/jobs/1")).text
            wanted = set(re.findall(r'(?:href|src)="(/assets/[^"]+)"', page)) | {"/assets/mockgitea/rows.js"}
            for path in wanted:
                assert (await client.get(path)).status_code == 200, path
            assert (await client.get("/assets/mockgitea/render.py")).status_code == 404
            assert (await client.get("/assets/mockgitea/..%2Frender.py")).status_code == 404

    run_async(test)


def test_scripts_never_write_markup() -> None:
    for file in resources.files("mockgitea.ui").joinpath("static").iterdir():
        text = file.read_text()
        forbidden = re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)
        assert not forbidden, f"{file.name}: {forbidden}"


def test_log_download_on_control_port_holds_the_rows() -> None:
    async def test() -> None:
        async with page_client(page_services("gitea-1.27"), build_pages, hostile) as (client, ids):
            log: Any = await client.get(f"/runs/{ids['run']}/jobs/{ids['job']}/logs")
            assert log.text.partition(" ")[2] == f"{HOSTILE}\n"
            assert log.headers["x-content-type-options"] == "nosniff"
            assert "\r" not in log.headers["content-disposition"]

    run_async(test)
