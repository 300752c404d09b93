from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, func, select

from controlapi import Api
from mockgitea.storage.schema import metadata

WORKFLOW = "on: push\njobs: {a: {runs-on: x, steps: [{run: 'true'}]}}\n"


async def _task(api: Api) -> int:
    """Enqueue a job, let a runner fetch it, and return the task's number."""
    request = {"repository": "demo/demo", "workflow": WORKFLOW}
    await api.call("POST", "/enqueue", json=request, expect=201)
    runner = await api.call("POST", "/runners", json={"name": "r", "labels": ["x"]}, expect=201)
    record = api.services.directory.authenticate(runner["uuid"], runner["token"])
    fetched = await api.services.dispatch.fetch(record, tasks_version=0, capacity=None, request_key="")
    task_id: int = fetched.tasks[0].task_id
    return task_id


def test_clock_stands_still_until_moved(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        before = await api.call("GET", "/clock")
        assert before["mode"] == "manual"
        after = await api.call("POST", "/clock/advance", json={"seconds": 600.5})
        assert after["now_us"] - before["now_us"] == 600_500_000
        assert await api.call("GET", "/clock") == after

    with_api(body)


def test_clock_of_the_system_cannot_be_moved(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        answer = await api.call("POST", "/clock/advance", json={"seconds": 1}, expect=400)
        assert "--clock offset or manual" in answer["error"]["message"]

    with_api(body, clock="system")


def test_aged_task_is_reaped_and_no_other(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        old, young = await _task(api), await _task(api)
        await api.call("POST", f"/tasks/{old}/age", json={"seconds": 660})
        answer = await api.call("POST", "/maintenance/stop_zombie_tasks")
        assert answer == {"name": "stop_zombie_tasks", "counts": {"stopped": 1}}
        assert (await api.call("GET", f"/tasks/{old}"))["status"] == "failure"
        assert (await api.call("GET", f"/tasks/{young}"))["status"] == "running"

    with_api(body)


def test_unknown_maintenance_job_is_not_found_and_lists_the_known(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        answer = await api.call("POST", "/maintenance/nap", expect=404)
        assert "stop_zombie_tasks" in answer["error"]["message"]

    with_api(body)


def test_settings_change_while_the_server_runs(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        assert await api.call("GET", "/settings") == {"max_concurrent_task_picks": 16}
        changed = await api.call("PATCH", "/settings", json={"max_concurrent_task_picks": 1})
        assert changed == {"max_concurrent_task_picks": 1}
        assert await api.call("PATCH", "/settings", json={}) == changed

    with_api(body)


def test_version_names_profile_and_seed(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        shown = await api.call("GET", "/version")
        assert shown["profile"] == "forgejo-15"
        assert shown["seed"] == 20_261
        assert shown["is_mock"] is True

    with_api(body, profile="forgejo-15")


def test_task_is_shown_with_its_steps_and_log(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        task_id = await _task(api)
        runner = api.services.directory.all()[0]
        rows = [(1_700_000_000_000_000_000, "hello"), (1_700_000_000_000_000_000, "<b>world</b>")]
        assert await api.services.logs.append(runner, task_id=task_id, index=0, rows=rows, no_more=False) == 2
        shown = await api.call("GET", f"/tasks/{task_id}")
        assert (shown["status"], shown["log_rows"], shown["is_log_sealed"]) == ("running", 2, False)
        assert [step["name"] for step in shown["steps"]] == ["Run true"]
        answer = await api.client.get(f"/control/v1/tasks/{task_id}/log")
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.text.splitlines() == [
            "2023-11-14T22:13:20.0000000Z hello",
            "2023-11-14T22:13:20.0000000Z <b>world</b>",
        ]

    with_api(body)


def test_reset_leaves_nothing_behind(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        fresh = await _everything(api)
        task_id = await _task(api)
        runner = api.services.directory.all()[0]
        await api.services.logs.append(runner, task_id=task_id, index=0, rows=[(1, "x")], no_more=False)
        await api.call("POST", "/repositories", json={"owner": "octo", "name": "app"})
        await api.call("PUT", "/variables/a", json={"value": "1"})
        await api.call("PUT", "/secrets/a", json={"value": "1"}, params={"owner": "octo"})
        await api.call("POST", "/faults", json={"name": "f", "kind": "refuse"}, expect=201)
        await api.call("POST", "/settle", expect=204)
        assert await _everything(api) != fresh
        await api.call("POST", "/reset", expect=204)
        assert await _everything(api) == fresh
        await api.call("GET", f"/tasks/{task_id}", expect=404)
        assert api.services.versions.current(0, 0) == 0
        made = await api.call("POST", "/enqueue", json={"repository": "demo/demo", "workflow": WORKFLOW}, expect=201)
        assert (made["run_id"], made["run_number"], made["jobs"][0]["id"]) == (1, 1, 1)

    with_api(body)


def test_reset_keeps_the_global_registration_token_and_ends_all_others(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        known = await api.call("POST", "/registration-tokens", json={})
        scoped = await api.call("POST", "/registration-tokens", json={"scope": {"owner": "demo"}})
        await api.call("POST", "/reset", expect=204)
        assert await api.call("POST", "/registration-tokens", json={}) == known
        assert await api.call("POST", "/registration-tokens", json={"scope": {"owner": "demo"}}) != scoped

    with_api(body)


async def _everything(api: Api) -> dict[str, Any]:
    """Return what every list of the control API shows, and how many rows each table holds."""
    paths = ["/repositories", "/runs", "/runners", "/variables", "/commit-statuses", "/faults", "/counters", "/journal"]
    shown = {path: await api.call("GET", path) for path in paths}

    def count(conn: Connection) -> dict[str, int]:
        return {
            table.name: conn.execute(select(func.count()).select_from(table)).scalar_one()
            for table in metadata.sorted_tables
            if table.name != "meta"  # the server's own identity: schema version, starts, signing key
        }

    # The global registration token is drawn at the first reset, if nobody asked for it before.
    return shown | {"rows": await api.services.store.read(count) | {"registration_token": 1}}
