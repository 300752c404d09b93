"""The web endpoints as HTTP: polling in every style of URL, pages, redirects, cross-site rule, downloads."""

import re
from typing import Any

import pytest

from actionswire.result import Status
from mockgitea.transport.web import build_web
from pagedata import OWNER, REPO, START_US, Seed, page_client, page_services, run_async

BASE = f"/{OWNER}/{REPO}/actions"
ALL = ("gitea-1.20", "gitea-1.21", "gitea-1.25", "gitea-1.27", "gitea-next", "forgejo-11", "forgejo-15")
WITH_TOKEN = ("gitea-1.20", "gitea-1.21", "gitea-1.25", "forgejo-11")


def s75(seed: Seed) -> dict[str, int]:
    """Five rows stored; step 0 runs from row 2 on with nothing covered."""
    repo = seed.repository()
    run = seed.run(repo, number=3)
    seed.attempt(run)
    job = seed.job(run)
    task = seed.task(job)
    seed.step(task, 0, status=int(Status.RUNNING), log_index=2, started_us=START_US)
    seed.rows(task, 0, ["a", "b"])
    seed.rows(task, 2, ["c", "d\\ne", "f"])
    return {"run": run, "job": job, "task": task, "repo": repo}


def job_path(profile: str, ids: dict[str, int]) -> str:
    if profile in ("gitea-1.27", "gitea-next"):
        return f"{BASE}/runs/{ids['run']}/jobs/{ids['job']}"
    return f"{BASE}/runs/3/jobs/0" + ("/attempt/1" if profile == "forgejo-15" else "")


async def poll(client: Any, path: str, cursors: Any = None, **headers: str) -> Any:
    page = await client.get(path)
    token = re.search(r'name="_csrf" content="([0-9a-f]+)"', page.text)
    if token:
        headers["X-Csrf-Token"] = token[1]
    body = {} if cursors is None else {"logCursors": cursors}
    return await client.post(path, json=body, headers=headers)


def expanded(*steps: int) -> list[dict[str, Any]]:
    return [{"step": step, "cursor": None, "expanded": True} for step in steps]


@pytest.mark.parametrize("profile", ALL)
def test_poll_serves_set_up_rows_but_not_uncovered_ones_then_covers_them(profile: str) -> None:
    async def test() -> None:
        services = page_services(profile)
        async with page_client(services, build_web, s75) as (client, ids):
            path = job_path(profile, ids)
            answer = (await poll(client, path, expanded(0, 1))).json()
            logs = answer["logs"]["stepsLog"]
            assert [(log["step"], log["cursor"], [line["message"] for line in log["lines"]]) for log in logs] == [
                (0, 2, ["a", "b"]),
                (1, 0, []),
            ]
            assert [step["status"] for step in answer["state"]["currentJob"]["steps"]] == [
                "success", "running", "waiting",
            ]  # fmt: skip
            await services.store.write(lambda tx: tx.conn.exec_driver_sql("UPDATE step SET log_length = 3"))
            log = (await poll(client, path, expanded(1))).json()["logs"]["stepsLog"][0]
            assert [(line["index"], line["message"]) for line in log["lines"]] == [(1, "c"), (2, "d\\ne"), (3, "f")]
            assert log["cursor"] == 3
            assert log["lines"][0]["timestamp"] == START_US / 1e6 + 2e-7
            assert log["started"] == START_US // 1_000_000

    run_async(test)


@pytest.mark.parametrize(("length", "stored", "lines", "cursor"), [(5, 5, 3, 5), (5, 4, 2, 4)])
def test_poll_from_cursor_2_numbers_rows_from_3_and_stops_at_what_is_stored(
    length: int, stored: int, lines: int, cursor: int
) -> None:
    def fill(seed: Seed) -> dict[str, int]:
        run = seed.run(seed.repository(), number=3)
        job = seed.job(run)
        task = seed.task(job)
        seed.step(task, 0, status=int(Status.RUNNING), log_length=length)
        for row in range(stored):
            seed.rows(task, row, [f"row {row}"])
        return {"run": run, "job": job}

    async def test() -> None:
        async with page_client(page_services("gitea-1.27"), build_web, fill) as (client, ids):
            path = job_path("gitea-1.27", ids)
            answer = (await poll(client, path, [{"step": 1, "cursor": 2, "expanded": True}])).json()
            log = answer["logs"]["stepsLog"][0]
            assert [line["index"] for line in log["lines"]] == list(range(3, 3 + lines))
            assert log["cursor"] == cursor

    run_async(test)


def test_poll_of_job_without_task_answers_empty_lists_whatever_the_cursors() -> None:
    def fill(seed: Seed) -> dict[str, int]:
        run = seed.run(seed.repository(), number=3)
        return {"run": run, "job": seed.job(run, status=int(Status.WAITING))}

    async def test() -> None:
        for profile in ("gitea-1.27", "gitea-1.25", "forgejo-15"):
            async with page_client(page_services(profile), build_web, fill) as (client, ids):
                answer = (await poll(client, job_path(profile, ids), expanded(7))).json()
                assert answer["state"]["currentJob"]["steps"] == []
                assert answer["logs"]["stepsLog"] == []

    run_async(test)


def test_poll_with_cursor_of_unknown_step_fails_only_when_expanded() -> None:
    async def test() -> None:
        async with page_client(page_services("gitea-1.27"), build_web, s75) as (client, ids):
            path = job_path("gitea-1.27", ids)
            refused = await poll(client, path, expanded(3))
            assert refused.status_code == 500
            assert "shows 3 steps" in refused.text
            assert (await poll(client, path, [{"step": 3}])).status_code == 200

    run_async(test)


def test_poll_of_expired_log_shows_one_line_for_cursor_0_only() -> None:
    def fill(seed: Seed) -> dict[str, int]:
        ids = s75(seed)
        seed.conn.exec_driver_sql("UPDATE task SET is_log_expired = 1")
        return ids

    async def test() -> None:
        async with page_client(page_services("gitea-1.27"), build_web, fill) as (client, ids):
            cursors = [*expanded(0), {"step": 1, "cursor": 1, "expanded": True}]
            logs = (await poll(client, job_path("gitea-1.27", ids), cursors)).json()["logs"]["stepsLog"]
            assert [(log["step"], log["cursor"], len(log["lines"])) for log in logs] == [(0, 1, 1)]
            assert logs[0]["lines"][0]["timestamp"] == START_US / 1e6
            assert (await client.get(f"{job_path('gitea-1.27', ids)}/logs")).status_code == 404

    run_async(test)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b"{", "body"),
        (b"[]", "body"),
        (b'{"logCursors": 3}', "logCursors"),
        (b'{"logCursors": [3]}', r"logCursors\[0\]"),
        (b'{"logCursors": [{"step": "0"}]}', r"logCursors\[0\]\.step"),
        (b'{"logCursors": [{"step": true}]}', r"logCursors\[0\]\.step"),
        (b'{"logCursors": [{"step": 0, "cursor": 1.5}]}', r"logCursors\[0\]\.cursor"),
        (b'{"logCursors": [{"step": 0, "expanded": 1}]}', r"logCursors\[0\]\.expanded"),
    ],
)
def test_poll_with_wrong_body_answers_400_and_names_the_field(body: bytes, named: str) -> None:
    async def test() -> None:
        async with page_client(page_services("gitea-1.27"), build_web, s75) as (client, ids):
            refused = await client.post(job_path("gitea-1.27", ids), content=body)
            assert refused.status_code == 400
            assert re.match(named, refused.text)

    run_async(test)


def test_poll_with_oversized_body_answers_413() -> None:
    async def test() -> None:
        async with page_client(page_services("gitea-1.27"), build_web, s75) as (client, ids):
            refused = await client.post(job_path("gitea-1.27", ids), content=b" " * (1 << 20) + b"{}")
            assert refused.status_code == 413

    run_async(test)


def test_ids_profile_accepts_latest_and_refuses_indexes_in_a_post() -> None:
    async def test() -> None:
        async with page_client(page_services("gitea-1.27"), build_web, s75) as (client, ids):
            latest = (await poll(client, f"{BASE}/runs/latest")).json()
            assert latest["state"]["run"]["index"] == 3
            assert latest["state"]["currentJob"] == {"title": "", "detail": "", "steps": None}
            assert latest["logs"]["stepsLog"] is None
            assert (await poll(client, f"{BASE}/runs/latest/jobs/{ids['job']}")).status_code == 200
            for path in ("runs/3", f"runs/{ids['run']}/jobs/0", f"runs/{ids['run']}/jobs/99", "runs/x", "runs/0"):
                assert (await client.post(f"{BASE}/{path}", json={})).status_code == 404, path
            assert (await client.post("/demo/other/actions/runs/1", json={})).status_code == 404

    run_async(test)


def test_ids_profile_redirects_only_gets_of_old_index_urls() -> None:
    async def test() -> None:
        async with page_client(page_services("gitea-1.27"), build_web, s75) as (client, ids):
            run = await client.get(f"{BASE}/runs/3")
            assert (run.status_code, run.headers["location"]) == (302, f"{BASE}/runs/{ids['run']}")
            job = await client.get(f"{BASE}/runs/3/jobs/0")
            assert (job.status_code, job.headers["location"]) == (302, f"{BASE}/runs/{ids['run']}/jobs/{ids['job']}")
            assert (await client.get(f"{BASE}/runs/4")).status_code == 404
            assert (await client.get(f"{BASE}/runs/latest")).status_code == 200

    run_async(test)


def test_index_profile_shows_job_0_for_a_run_and_for_a_job_out_of_range() -> None:
    def fill(seed: Seed) -> dict[str, int]:
        ids = s75(seed)
        return ids | {"second": seed.job(ids["run"], name="test")}

    async def test() -> None:
        async with page_client(page_services("gitea-1.25"), build_web, fill) as (client, _):
            titles = [
                (await poll(client, f"{BASE}/runs/3{part}")).json()["state"]["currentJob"]["title"]
                for part in ("", "/jobs/0", "/jobs/1", "/jobs/2", "/jobs/x")
            ]
            assert titles == ["build", "build", "test", "build", "build"]

    run_async(test)


def test_attempt_profile_fails_on_attempt_0_once_the_job_has_a_task() -> None:
    def fill(seed: Seed) -> dict[str, int]:
        ids = s75(seed)
        return ids | {"second": seed.job(ids["run"], name="test", status=int(Status.WAITING))}

    async def test() -> None:
        async with page_client(page_services("forgejo-15"), build_web, fill) as (client, _):
            for path in ("runs/3", "runs/3/jobs/0", "runs/3/jobs/0/attempt/0", "runs/3/jobs/0/attempt/2"):
                assert (await client.post(f"{BASE}/{path}", json={})).status_code == 500, path
            assert (await client.post(f"{BASE}/runs/3/jobs/1", json={})).status_code == 200
            shown = (await client.post(f"{BASE}/runs/3/jobs/0/attempt/1", json={})).json()
            assert [one["number"] for one in shown["state"]["currentJob"]["allAttempts"]] == [1]
            moved = await client.get(f"{BASE}/runs/3")
            assert (moved.status_code, moved.headers["location"]) == (307, f"{BASE}/runs/3/jobs/0/attempt/1")

    run_async(test)


def test_older_attempt_is_shown_by_number_and_by_its_jobs() -> None:
    def fill(seed: Seed) -> dict[str, int]:
        run = seed.run(seed.repository(), number=3, attempt=2)
        seed.attempt(run, 1, status=int(Status.FAILURE), started_us=START_US, stopped_us=START_US + 61_000_000)
        seed.attempt(run, 2, triggering_actor="bob")
        old = seed.job(run, status=int(Status.FAILURE), is_latest=False, stopped_us=START_US + 1_000_000)
        task = seed.task(old, status=int(Status.FAILURE))
        new = seed.job(run, status=int(Status.RUNNING), attempt=2, source_task_id=task)
        return {"run": run, "old": old, "new": new}

    async def test() -> None:
        async with page_client(page_services("gitea-1.27"), build_web, fill) as (client, ids):
            run_path = f"{BASE}/runs/{ids['run']}"
            first = (await poll(client, f"{run_path}/attempts/1")).json()["state"]["run"]
            assert (first["status"], first["done"], first["duration"]) == ("failure", True, "1m1s")
            assert (first["canRerun"], first["workflowLink"], first["viewLink"]) == (
                False,
                "",
                f"{run_path}/attempts/1",
            )
            assert [job["id"] for job in first["jobs"]] == [ids["old"]]
            assert [(one["attempt"], one["current"], one["latest"]) for one in first["attempts"]] == [
                (1, True, False),
                (2, False, True),
            ]
            latest = (await poll(client, run_path)).json()["state"]["run"]
            assert (latest["runAttempt"], [job["id"] for job in latest["jobs"]]) == (2, [ids["new"]])
            by_job = (await poll(client, f"{run_path}/jobs/{ids['old']}")).json()["state"]["run"]
            assert by_job["runAttempt"] == 1
            kept = (await poll(client, f"{run_path}/jobs/{ids['new']}")).json()
            assert kept["state"]["currentJob"]["steps"] != [], "a kept job shows the task it was kept from"
            assert (await client.post(f"{run_path}/attempts/3", json={})).status_code == 404

    run_async(test)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://mock.test"}, 200),
        ({"Origin": "http://evil.test"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Origin": "http://mock.test"}, 403),
    ],
)
@pytest.mark.parametrize("profile", ["gitea-1.27", "forgejo-15"])
def test_newer_profiles_judge_where_a_post_comes_from(profile: str, headers: dict[str, str], status: int) -> None:
    async def test() -> None:
        async with page_client(page_services(profile), build_web, s75) as (client, ids):
            path = job_path(profile, ids)
            assert (await client.post(path, json={}, headers=headers)).status_code == status

    run_async(test)


@pytest.mark.parametrize("profile", WITH_TOKEN)
def test_older_profiles_want_the_token_that_the_page_carries(profile: str) -> None:
    async def test() -> None:
        async with page_client(page_services(profile), build_web, s75) as (client, ids):
            path = job_path(profile, ids)
            assert (await client.post(path, json={})).status_code == 400
            assert (await client.post(path, json={}, headers={"X-Csrf-Token": b"\xe9" * 40})).status_code == 400
            assert (await poll(client, path)).status_code == 200
            carried = (await client.get(path)).headers["set-cookie"]
            assert carried.startswith("_csrf=")
            assert (await poll(client, path, Origin="http://evil.test")).status_code == 200

    run_async(test)


@pytest.mark.parametrize("profile", ALL)
def test_download_holds_every_stored_row_as_stored(profile: str) -> None:
    async def test() -> None:
        async with page_client(page_services(profile), build_web, s75) as (client, ids):
            log = await client.get(f"{job_path(profile, ids)}/logs")
            assert log.headers["content-type"] == "text/plain; charset=utf-8"
            assert f'filename="ci-build-{ids["task"]}.log"' in log.headers["content-disposition"]
            lines = log.text.splitlines()
            assert [line.partition(" ")[2] for line in lines] == ["a", "b", "c", "d\\ne", "f"]
            assert all(re.match(r"2023-11-14T22:\d\d:\d\d\.\d{7}Z ", line) for line in lines)
            assert log.text.endswith("\n")
            assert int(log.headers["content-length"]) == len(log.content)

    run_async(test)


@pytest.mark.parametrize("profile", ALL)
def test_download_is_404_before_the_task_and_on_gitea_before_the_first_row(profile: str) -> None:
    def fill(seed: Seed) -> dict[str, int]:
        run = seed.run(seed.repository(), number=3)
        return {"run": run, "job": seed.job(run)}

    async def test() -> None:
        services = page_services(profile)
        async with page_client(services, build_web, fill) as (client, ids):
            path = f"{job_path(profile, ids)}/logs"
            assert (await client.get(path)).status_code == 404
            await services.store.write(lambda tx: Seed(tx.conn).task(ids["job"]))
            assert (await client.get(path)).status_code == (200 if profile.startswith("forgejo") else 404)

    run_async(test)


@pytest.mark.parametrize("profile", ALL)
def test_artifact_list_exists_where_the_page_asks_for_it_on_its_own(profile: str) -> None:
    async def test() -> None:
        async with page_client(page_services(profile), build_web, s75) as (client, _):
            answer = await client.get(f"{BASE}/runs/3/artifacts")
            if profile in ("gitea-1.27", "gitea-next"):
                assert answer.status_code == 404
            else:
                assert answer.json() == {"artifacts": []}

    run_async(test)
