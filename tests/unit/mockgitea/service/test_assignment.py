"""The message of a task: context, secrets, variables, needs and runtime token."""

import jwt
import pytest

from actionswire.workflow_yaml import load
from lifecycle import START_US, Bench, on_bench
from mockgitea.core.messages import Assignment
from profiles import ALL

ONE = "jobs: {build: {runs-on: linux, steps: [{run: x}]}}"
TOKEN_NAMES = {"GITHUB_TOKEN", "GITEA_TOKEN"}


async def task_of(bench: Bench, source: str = ONE, **given: object) -> Assignment:
    await bench.enqueue(source, **given)
    return await bench.fetch_some()


@pytest.mark.parametrize("profile", ALL)
def test_token_is_in_context_and_under_its_secret_names(profile: str) -> None:
    async def body(bench: Bench) -> None:
        task = await task_of(bench)
        names = TOKEN_NAMES | ({"FORGEJO_TOKEN"} if profile.startswith("forgejo") else set())
        assert dict(task.secrets) == dict.fromkeys(names, task.context["token"])
        assert len(task.context["token"]) == 40
        assert task.needs == {}

    on_bench(profile, body)


@pytest.mark.parametrize("profile", ALL)
def test_context_is_filled_from_the_run(profile: str) -> None:
    async def body(bench: Bench) -> None:
        context = (await task_of(bench, sha="b" * 40, workflow_file="ci.yaml", ref="feature", actor="bob")).context
        assert context["server_url"] == "http://git.example/"
        assert context["repository"] == "demo/demo"
        assert (context["run_id"], context["run_number"], context["run_attempt"]) == ("1", "1", "1")
        assert (context["ref"], context["ref_name"]) == ("refs/heads/feature", "feature")
        assert (context["sha"], context["workflow"], context["actor"]) == ("b" * 40, "ci.yaml", "bob")
        assert context["event"]["ref"] == "refs/heads/feature"
        assert context["job"] == ("1" if profile in ("gitea-1.20", "gitea-1.21") else "build")
        assert ("gitea_runtime_token" in context) is (profile not in ("gitea-1.20", "gitea-1.21"))

    on_bench(profile, body)


def test_runtime_token_is_signed_and_says_whose_it_is() -> None:
    async def body(bench: Bench) -> None:
        token = (await task_of(bench)).context["gitea_runtime_token"]
        claims = jwt.decode(token, options={"verify_signature": False})
        assert claims["scp"] == "Actions.Results:1:1"
        assert (claims["RunID"], claims["JobID"], claims["TaskID"]) == (1, 1, 1)
        assert claims["nbf"] == START_US // 1_000_000
        assert jwt.get_unverified_header(token)["alg"] == "HS256"

    on_bench("gitea-1.27", body)


def test_nearer_scopes_win() -> None:
    async def body(bench: Bench) -> None:
        vault = bench.services.vault
        repository = await bench.services.repositories.get("demo/demo")
        owner, repo = (repository.owner_id, 0), (0, repository.id)
        for scope in ((0, 0), owner, repo):
            await vault.set_variable(*scope, "both", f"{scope}")
        await vault.set_variable(0, 0, "everywhere", "1")
        await vault.set_secret(*owner, "both", "owner")
        await vault.set_secret(*owner, "mine", "owner")
        await vault.set_secret(*repo, "both", "repository")
        task = await task_of(bench)
        assert dict(task.vars) == {"BOTH": f"{repo}", "EVERYWHERE": "1"}
        assert {name: task.secrets[name] for name in task.secrets.keys() - TOKEN_NAMES} == {
            "BOTH": "repository", "MINE": "owner"
        }  # fmt: skip

    on_bench("gitea-1.27", body)


def test_secrets_of_a_request_are_stored_for_the_repository() -> None:
    async def body(bench: Bench) -> None:
        task = await task_of(bench, secrets={"key": "s"}, vars={"v": "1"})
        assert (task.secrets["KEY"], task.vars["V"]) == ("s", "1")
        assert (await task_of(bench)).secrets["KEY"] == "s"

    on_bench("gitea-1.27", body)


@pytest.mark.parametrize(("event", "sees"), [("pull_request", False), ("pull_request_target", True)])
def test_fork_pull_request_gets_the_token_only(event: str, sees: bool) -> None:
    async def body(bench: Bench) -> None:
        source = f"on: [pull_request, pull_request_target]\n{ONE}"
        task = await task_of(bench, source, event=event, secrets={"key": "s"}, fork_pull_request=True)
        assert ("KEY" in task.secrets) is sees
        assert task.secrets.keys() >= TOKEN_NAMES

    on_bench("gitea-1.27", body)


def test_pull_request_target_sees_its_base() -> None:
    async def body(bench: Bench) -> None:
        payload = {"pull_request": {"base": {"ref": "main", "sha": "c" * 40}}}
        source = f"on: pull_request_target\n{ONE}"
        context = (
            await task_of(
                bench, source, ref="refs/pull/7/head", base_ref="main", head_ref="feature", event_payload=payload
            )
        ).context
        assert (context["ref"], context["ref_name"], context["sha"]) == ("refs/heads/main", "main", "c" * 40)
        assert (context["base_ref"], context["head_ref"]) == ("main", "feature")

    on_bench("gitea-1.27", body)


def test_payload_travels_as_it_was_planned() -> None:
    async def body(bench: Bench) -> None:
        task = await task_of(bench, "name: CI\non: push\nenv: {A: 1}\n" + ONE)
        assert load(task.payload.decode()) == {
            "name": "CI",
            "on": "push",
            "env": {"A": 1},
            "jobs": {"build": {"runs-on": "linux", "steps": [{"run": "x"}], "name": "build"}},
        }

    on_bench("gitea-1.27", body)


def test_dispatch_inputs_are_texts_in_the_event() -> None:
    source = "on: {workflow_dispatch: {inputs: {n: {type: number}, b: {type: boolean, default: true}}}}\n" + ONE

    async def body(bench: Bench) -> None:
        task = await task_of(bench, source, inputs={"n": "4"})
        assert task.context["event"]["inputs"] == {"n": "4", "b": "true"}

    on_bench("gitea-1.27", body)
