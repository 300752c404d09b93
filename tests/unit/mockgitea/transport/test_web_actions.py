"""Web actions: who is asked to do what, what is answered, per profile."""

from typing import Any

import pytest

from actionswire.result import Status
from mockgitea.core.errors import InvalidInput, NotFound
from mockgitea.transport.web import build_web
from pagedata import Seed, page_client, page_services, run_async

BASE = "/demo/app/actions"
ALL = ("gitea-1.20", "gitea-1.21", "gitea-1.25", "gitea-1.27", "gitea-next", "forgejo-11", "forgejo-15")
IDS = ("gitea-1.27", "gitea-next")


def fill(seed: Seed) -> dict[str, int]:
    seed.repository("demo", "other")
    run = seed.run(seed.repository(), number=3)
    seed.attempt(run)
    first = seed.job(run, status=int(Status.SUCCESS))
    return {"run": run, "job": first, "second": seed.job(run, name="test", status=int(Status.FAILURE))}


async def post(client: Any, path: str, **arguments: Any) -> Any:
    page = await client.get(BASE)
    _, _, rest = page.text.partition('name="_csrf" content="')
    headers = {"X-Csrf-Token": rest[:40]} if rest else {}
    return await client.post(f"{BASE}/{path}", headers=headers, **arguments)


def run_path(profile: str, ids: dict[str, int]) -> str:
    return f"runs/{ids['run'] if profile in IDS else 3}"


@pytest.mark.parametrize("profile", ALL)
def test_cancel_and_reruns_reach_the_run_that_the_path_names(profile: str) -> None:
    async def test() -> None:
        services = page_services(profile)
        async with page_client(services, build_web, fill) as (client, ids):
            run = run_path(profile, ids)
            job = ids["second"] if profile in IDS else 1
            cancelled = await post(client, f"{run}/cancel")
            assert cancelled.status_code == 200
            assert cancelled.json() == ({"ok": True} if profile in ("gitea-1.25", *IDS) else {})
            rerun = await post(client, f"{run}/rerun")
            assert ("redirect" in rerun.json()) is (profile in ("forgejo-15", *IDS))
            assert (await post(client, f"{run}/jobs/{job}/rerun")).status_code == 200
            assert services.runs.calls == [
                ("cancel", (ids["run"], False)),
                ("rerun", (ids["run"], None, False)),
                ("rerun", (ids["run"], ids["second"], False)),
            ]

    run_async(test)


@pytest.mark.parametrize("profile", ALL)
def test_approve_and_rerun_failed_exist_where_the_server_has_them(profile: str) -> None:
    async def test() -> None:
        services = page_services(profile)
        async with page_client(services, build_web, fill) as (client, ids):
            run = run_path(profile, ids)
            approve = (await post(client, f"{run}/approve")).status_code
            failed = (await post(client, f"{run}/rerun-failed")).status_code
            assert approve == (404 if profile == "forgejo-15" else 200)
            assert failed == (404 if profile.startswith("forgejo") else 200)

    run_async(test)


def test_refused_rerun_answers_400_with_the_text_to_show() -> None:
    async def test() -> None:
        services = page_services("gitea-1.27")
        async with page_client(services, build_web, fill) as (client, ids):
            services.runs.refusal = InvalidInput("run: it is not finished", field="run")
            refused = await post(client, f"runs/{ids['run']}/rerun")
            assert refused.status_code == 400
            assert refused.json() == {"errorMessage": "run: it is not finished", "renderFormat": "text"}

    run_async(test)


@pytest.mark.parametrize("path", ["runs/99/cancel", "runs/x/rerun", "runs/99/jobs/1/rerun", "runs/{run}/jobs/99/rerun"])
def test_actions_on_unknown_runs_and_jobs_answer_404(path: str) -> None:
    async def test() -> None:
        services = page_services("gitea-1.27")
        async with page_client(services, build_web, fill) as (client, ids):
            assert (await post(client, path.format(**ids))).status_code == 404
            assert services.runs.calls == []

    run_async(test)


def test_actions_from_another_site_are_refused() -> None:
    async def test() -> None:
        services = page_services("gitea-1.27")
        async with page_client(services, build_web, fill) as (client, ids):
            headers = {"Origin": "http://evil.test"}
            refused = await client.post(f"{BASE}/runs/{ids['run']}/cancel", headers=headers)
            assert refused.status_code == 403
            assert services.runs.calls == []

    run_async(test)


def test_old_profile_takes_the_token_from_a_form_field_too() -> None:
    async def test() -> None:
        services = page_services("gitea-1.25")
        async with page_client(services, build_web, fill) as (client, _):
            token = (await client.get(BASE)).text.partition('name="_csrf" content="')[2][:40]
            assert (await client.post(f"{BASE}/runs/3/cancel", data={"_csrf": "no"})).status_code == 400
            assert (await client.post(f"{BASE}/runs/3/cancel", data={"_csrf": token})).status_code == 200

    run_async(test)


@pytest.mark.parametrize("form", [{"data": True}, {"files": True}])
@pytest.mark.parametrize(
    ("profile", "path", "key"), [("gitea-1.27", "run", "{}"), ("forgejo-15", "manual", "inputs[{}]")]
)
def test_dispatch_form_starts_the_workflow_with_its_inputs(
    profile: str, path: str, key: str, form: dict[str, bool]
) -> None:
    fields = {"ref": "refs/heads/main", key.format("level"): "high", key.format("note"): "ä & b"}

    async def test() -> None:
        services = page_services(profile)
        async with page_client(services, build_web, fill) as (client, _):
            body = {"files": {name: (None, value) for name, value in fields.items()}} if "files" in form else {
                "data": fields
            }  # fmt: skip
            answer = await post(client, f"{path}?workflow=ci.yaml", **body)
            assert (answer.status_code, answer.headers["location"]) == (303, f"{BASE}/?workflow=ci.yaml")
            assert services.runs.calls == [
                ("dispatch", ("demo/app", "ci.yaml", "refs/heads/main", {"level": "high", "note": "ä & b"}))
            ]

    run_async(test)


@pytest.mark.parametrize(("path", "data"), [("run?workflow=ci.yaml", {}), ("run", {"ref": "main"})])
def test_dispatch_without_ref_or_workflow_fails_with_500(path: str, data: dict[str, str]) -> None:
    async def test() -> None:
        services = page_services("gitea-1.27")
        async with page_client(services, build_web, fill) as (client, _):
            assert (await post(client, path, data=data)).status_code == 500
            assert services.runs.calls == []

    run_async(test)


@pytest.mark.parametrize("headers", [{"content-type": "text/plain"}, {"content-type": "multipart/form-data"}, {}])
def test_dispatch_with_a_body_that_is_no_form_answers_400(headers: dict[str, str]) -> None:
    async def test() -> None:
        async with page_client(page_services("gitea-1.27"), build_web, fill) as (client, _):
            answer = await client.post(f"{BASE}/run?workflow=ci.yaml", content=b"ref=main", headers=headers)
            assert answer.status_code == 400

    run_async(test)


def test_switching_a_workflow_asks_for_it_and_leads_back_to_the_list() -> None:
    async def test() -> None:
        services = page_services("gitea-1.27")
        async with page_client(services, build_web, fill) as (client, _):
            off = await post(client, "disable?workflow=ci.yaml")
            on = await post(client, "enable?workflow=ci.yaml")
            assert off.json() == on.json() == {"redirect": f"{BASE}/?workflow=ci.yaml"}
            assert services.runs.calls == [
                ("switch", ("demo/app", "ci.yaml", False)),
                ("switch", ("demo/app", "ci.yaml", True)),
            ]
            services.runs.refusal = NotFound("workflow_file: no such file")
            assert (await post(client, "enable?workflow=no.yaml")).status_code == 404
            assert (await post(client, "enable")).status_code == 400

    run_async(test)
