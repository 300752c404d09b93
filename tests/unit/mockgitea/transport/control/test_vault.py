from collections.abc import Callable

from controlapi import Api

SECRET = "a-very-secret-value"


def test_secret_is_stored_and_never_shown(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        scope = {"repository": "demo/demo"}
        stored = await api.call("PUT", "/secrets/my_key", json={"value": SECRET}, params=scope)
        assert stored == {"name": "MY_KEY", "is_new": True}
        assert (await api.call("PUT", "/secrets/MY_KEY", json={"value": "x"}, params=scope))["is_new"] is False
        listed = await api.call("GET", "/secrets", params=scope)
        assert [each["name"] for each in listed["secrets"]] == ["MY_KEY"]
        assert (await api.call("GET", "/secrets/my_key", params=scope))["name"] == "MY_KEY"
        await api.call("DELETE", "/secrets/my_key", params=scope, expect=204)
        await api.call("GET", "/secrets/my_key", params=scope, expect=404)
        await api.call("DELETE", "/secrets/my_key", params=scope, expect=404)

    with_api(body)


def test_secret_of_the_whole_server_is_refused_as_real_servers_have_none(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        answer = await api.call("PUT", "/secrets/A", json={"value": SECRET}, expect=400)
        assert SECRET not in str(answer)

    with_api(body)


def test_variables_of_scopes_do_not_mix(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        scopes: list[dict[str, str]] = [{}, {"owner": "demo"}, {"repository": "demo/demo"}]
        for number, scope in enumerate(scopes):
            await api.call("PUT", "/variables/level", json={"value": str(number), "description": "d"}, params=scope)
        for number, scope in enumerate(scopes):
            shown = await api.call("GET", "/variables/LEVEL", params=scope)
            assert (shown["value"], shown["description"]) == (str(number), "d")
            assert len((await api.call("GET", "/variables", params=scope))["variables"]) == 1
        await api.call("DELETE", "/variables/level", expect=204)
        await api.call("GET", "/variables/level", expect=404)

    with_api(body)


def test_secrets_appear_in_no_answer_of_any_get(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        workflow = "on: push\njobs: {a: {runs-on: x, steps: [{run: 'echo ${{ secrets.KEY }}'}]}}\n"
        request = {"repository": "demo/demo", "workflow": workflow, "secrets": {"KEY": SECRET}}
        made = await api.call("POST", "/enqueue", json=request, expect=201)
        runner = await api.call("POST", "/runners", json={"name": "r", "labels": ["x"]}, expect=201)
        record = api.services.directory.authenticate(runner["uuid"], runner["token"])
        fetched = await api.services.dispatch.fetch(record, tasks_version=0, capacity=None, request_key="")
        [assignment] = fetched.tasks
        assert assignment.secrets["KEY"] == SECRET
        hidden = [SECRET, runner["token"], assignment.secrets["GITEA_TOKEN"], "api-token"]
        ids = {"run_id": made["run_id"], "job_id": made["jobs"][0]["id"], "task_id": assignment.task_id, "name": "KEY"}
        ids["runner_id"] = runner["id"]
        asked = 0
        for path, verbs in api.app.openapi()["paths"].items():
            if "get" not in verbs:
                continue
            for scope in ({}, {"repository": "demo/demo"}):
                answer = await api.client.get(path.format(**ids), params=scope)
                asked += answer.status_code == 200
                for value in hidden:
                    assert value not in answer.text, f"{path} shows a secret"
        assert asked > 20

    with_api(body)
