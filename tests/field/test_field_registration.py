"""F96 to F108: identities that end, are shared or refused, or seem to be refused by somebody else than the server."""

import asyncio
import threading
from pathlib import Path

import httpx
import pytest

from actionsrunner.app import CannotStart, build_client
from actionsrunner.edge.client import Identity
from actionsrunner.edge.clock import LoopClock
from actionsrunner.edge.registration import Registration
from actionsrunner.exits import Exit
from actionsrunner.loops.registering import RegistrationRefused, RegistrationRequest, register
from actionswire.gen.runner.v1 import runner_pb2 as pb
from eventlog import logged
from mockgitea.testing import CallRefused, MockGitea
from mockgitea.testing import Runner as Known
from rawserver import RawServer, Reply, error, page
from runnerapp import command, configuration, finish, running, shell_task, write_config, write_runner_file

ONE = "on: push\njobs:\n  a:\n    runs-on: linux\n    steps: [{run: echo hello}]\n"


async def register_at(server: MockGitea, folder: Path, *, token: str = "", name: str = "r1") -> Registration:
    """Register as the command does."""
    client = build_client(configuration(folder, {}), server.url, Identity())
    request = RegistrationRequest(
        instance=server.url, token=token or server.registration_token, name=name, labels=["linux:host"]
    )
    try:
        return await register(client, LoopClock(), request)
    finally:
        await client.close()


@pytest.mark.parametrize("profile", ["gitea-1.27", "forgejo-15"])
def test_f096_ephemeral_runner_with_a_slow_log_is_removed_only_after_its_last_row(profile: str, tmp_path: Path) -> None:
    """The identity ended with the result, and rows that were still on their way were refused.

    Every row is stored and the log closed before the result is told, and nothing is sent after it.
    """

    async def scenario() -> None:
        async with MockGitea(profile=profile) as server:
            server.faults.add("delay", method="UpdateLog", stage="before", delay_s=0.2)
            run = server.enqueue(ONE)
            known = server.new_runner(ephemeral=True)
            async with running(server, tmp_path, known=known, ephemeral=True) as runner:
                assert await runner.ended() is Exit.OK
            task = run.job("a")["task"]
            assert (run.status, task["is_log_sealed"]) == ("success", True)
            assert run.log("a")[-1] == "Job succeeded"
            server.journal.assert_requests(runner=known, outcome="unauthenticated", count=0)
            with known.play() as late, pytest.raises(CallRefused, match="unregistered runner"):
                late.declare()

    asyncio.run(scenario())


def test_f097_ephemeral_runner_gets_one_task_whatever_became_of_it() -> None:
    """Identities meant for one task stayed usable after it.

    While the task runs there is no second one, and after its end, by result or by the reaper, no identity.
    """
    for ends_by_itself in (True, False):
        with MockGitea() as server:
            first, second = server.enqueue(ONE), server.enqueue(ONE)
            with server.new_runner(ephemeral=True).play() as played:
                task = played.fetch()
                assert task is not None
                assert played.fetch() is None
                if ends_by_itself:
                    played.finish(task["id"])
                else:
                    server.age_task(task["id"], 11 * 60)
                    server.maintenance("stop_zombie_tasks")
                with pytest.raises(CallRefused, match="unregistered runner"):
                    played.fetch()
            assert (first.status, second.status) == ("success" if ends_by_itself else "failure", "waiting")


@pytest.mark.parametrize("profile", ["gitea-1.27", "forgejo-15"])
def test_f101_runner_that_was_removed_leaves_after_one_refusal(profile: str, tmp_path: Path) -> None:
    """A runner without a registration asked every two seconds for ever and filled the log with refusals.

    The first refusal ends the polling, whichever code it came with, and the exit status says why.
    """

    async def scenario() -> None:
        async with MockGitea(profile=profile) as server:
            known = server.new_runner()
            async with running(server, tmp_path, known=known) as runner:
                await server.journal.wait_for_async("FetchTask", n=2)
                server.delete_runner(known)
                assert await runner.ended() is Exit.UNREGISTERED
            server.journal.assert_requests(outcome="unauthenticated", count=1)

    asyncio.run(scenario())


def test_f102_start_with_an_outdated_file_names_it_and_takes_its_time(tmp_path: Path) -> None:
    """A removed runner was restarted every second by its supervisor, and nobody knew which file to delete.

    The message names the file, which stays, and the process does not leave before a poll interval has passed.
    """

    async def scenario() -> None:
        async with RawServer() as server:
            server.always("Declare", error(401, "unauthenticated", "unregistered runner"))
            write_runner_file(tmp_path, server.url)
            config = write_config(tmp_path, fetch_interval="400ms", fetch_interval_max="400ms")
            process = await command(tmp_path, "--config", str(config), "daemon")
            code, output = await finish(process)
            lived_s = asyncio.get_running_loop().time() - server.of("Declare")[0].at
            assert code == Exit.UNREGISTERED
            assert str(tmp_path / ".runner") in output
            assert "delete it" in output
            assert (tmp_path / ".runner").exists()
            assert lived_s >= 0.4
            assert len(server.of("Declare")) == 1

    asyncio.run(scenario())


@pytest.mark.parametrize("profile", ["gitea-1.27", "forgejo-15"])
def test_f103_wrong_registration_token_is_refused_once_and_in_words(profile: str, tmp_path: Path) -> None:
    """A wrong token came back as a server error, so clients tried again and people suspected the server.

    There is one call, and the message speaks of the token.
    """

    async def scenario() -> None:
        async with MockGitea(profile=profile) as server:
            with pytest.raises(RegistrationRefused, match="runner registration token"):
                await register_at(server, tmp_path, token="no-such-token")
            (call,) = server.journal.calls(method="Register")
            assert call.outcome != "ok"
            assert server.snapshot()["runners"] == []

    asyncio.run(scenario())


def test_f105_registration_token_serves_all_replicas_until_it_is_revoked(tmp_path: Path) -> None:
    """Tokens that ended with their first use kept replicas from registering.

    One token registers any number of runners; once it is replaced it registers none, and those runners stay.
    """

    async def scenario() -> None:
        async with MockGitea() as server:
            old = server.registration_token
            made = [await register_at(server, tmp_path, token=old, name=f"replica-{n}") for n in range(3)]
            assert len({each.uuid for each in made}) == 3
            url = f"{server.control_url}/control/v1/registration-tokens"
            async with httpx.AsyncClient(timeout=30) as http:
                answer = await http.post(url, json={"scope": {}, "reset": True})
            with pytest.raises(RegistrationRefused):
                await register_at(server, tmp_path, token=old)
            await register_at(server, tmp_path, token=answer.json()["token"], name="replica-4")
            run = server.enqueue(ONE)
            async with running(server, tmp_path, known=_known(server, made[0])):
                assert await run.wait_async() == "success"

    asyncio.run(scenario())


def _known(server: MockGitea, made: Registration) -> Known:
    return Known(made.id, made.uuid, made.token, made.name, ("linux",), server.url)


def test_f106_registrations_at_once_under_one_name_do_not_hurt_each_other(tmp_path: Path) -> None:
    """Two registrations under one name at the same time made the first one's credentials invalid.

    Each of them gets an identity of its own that works.
    """

    async def scenario() -> None:
        async with MockGitea() as server:
            made = await asyncio.gather(*(register_at(server, tmp_path, name="same") for _ in range(8)))
            assert len({each.uuid for each in made}) == len({each.token for each in made}) == 8
            for each in made:
                with _known(server, each).play() as played:
                    played.declare()
                    assert played.fetch() is None

    asyncio.run(scenario())


def test_f107_same_identity_on_a_new_connection_takes_over_from_a_silent_one() -> None:
    """After an outage the server held on to a dead session and refused the same runner for a long time.

    While an earlier call of the identity still hangs, a new connection of it declares, fetches and works.
    """
    with MockGitea() as server:
        known = server.new_runner()
        with known.play() as silent, known.play() as fresh, server.gate("FetchTask", stage="before", times=1) as gate:
            hanging = threading.Thread(target=silent.fetch)
            hanging.start()
            gate.wait()
            run = server.enqueue(ONE)
            fresh.declare()
            task = fresh.fetch()
            assert task is not None
            fresh.finish(task["id"])
            assert run.wait(within=5) == "success"
            gate.open()
            hanging.join()
        server.journal.assert_requests(method="FetchTask", outcome="task", count=1)


def test_f108_page_of_a_sign_on_proxy_is_not_taken_for_the_servers_word(tmp_path: Path) -> None:
    """A proxy answered with its own pages, and the runner took its registration for invalid and the server for old.

    Whatever the status of such a page, the runner waits and goes on when the server itself answers.
    """

    async def scenario() -> None:
        foreign = [page(status) for status in (401, 403, 404, 502)]
        login = Reply(200, {"Content-Type": "text/html"}, b"<form>sign in</form>")
        async with RawServer() as server:
            for method in ("Declare", "FetchTask"):
                server.script(method, *foreign, login)
            for method in ("UpdateLog", "UpdateTask"):
                server.script(method, foreign[0], foreign[2])
            server.tasks.append(shell_task(1, "echo hello"))
            with logged() as logs:
                async with running(server, tmp_path, report_close_timeout="5s", fetch_interval_max="20ms"):
                    await server.until(lambda: server.final(1) and 1 in server.results)
            assert server.results[1] == pb.RESULT_SUCCESS
            assert server.rows[1][-1] == "Job succeeded"
            assert not [entry for entry in logs if entry["log_level"] == "error"]

    asyncio.run(scenario())
    asyncio.run(_own_word_counts(tmp_path))


async def _own_word_counts(folder: Path) -> None:
    """The same status with the server's own error body does end it."""
    async with RawServer() as server:
        server.always("Declare", error(401, "unauthenticated", "unregistered runner"))
        with pytest.raises(CannotStart):
            async with running(server, folder) as runner:
                await runner.ended()
