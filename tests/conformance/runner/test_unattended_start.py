"""Starting like the official image: registration by environment variables, labels, the instance lock, TLS."""

import asyncio
import json
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from actionsrunner.exits import Exit
from actionswire.gen.runner.v1 import runner_pb2 as pb
from rawserver import RawServer, error
from runnerapp import command, finish, shell_task, write_config, write_runner_file


def image(url: str, **more: str) -> dict[str, str]:
    return {"GITEA_INSTANCE_URL": url, "GITEA_RUNNER_REGISTRATION_TOKEN": "reg-token", **more}


def test_daemon_registers_by_itself_and_hides_the_token_from_jobs(tmp_path: Path) -> None:
    async def scenario() -> None:
        config = write_config(tmp_path)
        variables = image("", GITEA_RUNNER_NAME="box", GITEA_RUNNER_LABELS="linux:host,x", GITEA_RUNNER_ONCE="1")
        async with RawServer() as server:
            server.tasks.append(shell_task(1, "echo token=[$GITEA_RUNNER_REGISTRATION_TOKEN]"))
            variables |= {"GITEA_INSTANCE_URL": server.url, "CONFIG_FILE": str(config)}
            variables |= {"RUNNER_STATE_FILE": str(tmp_path / "state.json")}
            code, output = await finish(await command(tmp_path, "daemon", variables=variables))
            assert code == Exit.OK, output
            asked = server.of("Register")[0].message
            assert (asked.name, asked.token, list(asked.labels)) == ("box", "reg-token", ["linux", "x"])
            assert list(server.of("Declare")[0].message.labels) == ["linux", "x"]
            assert "token=[]" in server.rows[1]
            assert json.loads((tmp_path / "state.json").read_text())["name"] == "box"
            assert "reg-token" not in output

    asyncio.run(scenario())


def test_registration_attempts_are_limited(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.always("Register", error(500, "unknown", "runner registration token not found"))
            variables = image(server.url, GITEA_MAX_REG_ATTEMPTS="1")
            code, output = await finish(await command(tmp_path, "daemon", variables=variables))
            assert code == Exit.FAILED
            assert "runner registration token not found" in output
            assert len(server.of("Register")) == 1

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("flag", "variable", "configured", "expected"),
    [
        (["--labels", "flag"], "env", ["config"], "flag"),
        ([], "env", ["config"], "env"),
        ([], "", ["config"], "config"),
        ([], "", [], "linux:host"),
    ],
)
def test_labels_come_from_flag_variable_config_then_file(
    tmp_path: Path, flag: list[str], variable: str, configured: list[str], expected: str
) -> None:
    async def scenario() -> None:
        config = write_config(tmp_path, labels=configured)
        async with RawServer() as server:
            write_runner_file(tmp_path, server.url)
            server.tasks.append(shell_task(1, "true"))
            arguments = ["-c", str(config), "daemon", "--once", *flag]
            process = await command(tmp_path, *arguments, variables={"GITEA_RUNNER_LABELS": variable})
            code, output = await finish(process)
            assert code == Exit.OK, output
            assert list(server.of("Declare")[0].message.labels) == [expected.partition(":")[0]]
            assert json.loads((tmp_path / ".runner").read_text())["labels"] == [expected]

    asyncio.run(scenario())


def test_second_daemon_on_the_same_registration_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            write_runner_file(tmp_path, server.url)
            config = write_config(tmp_path)
            first = await command(tmp_path, "-c", str(config), "daemon")
            await server.until(lambda: server.of("FetchTask"))
            code, output = await finish(await command(tmp_path, "-c", str(config), "daemon"))
            assert code == Exit.ALREADY_RUNNING
            assert ".runner.lock" in output
            first.terminate()
            assert (await finish(first))[0] == Exit.OK

    asyncio.run(scenario())


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
@pytest.mark.parametrize("trust", ["authority", "insecure", "none"])
def test_own_authority_is_trusted_through_ssl_cert_file(tmp_path: Path, trust: str) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(certificate),
         "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip

    async def scenario() -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server = RawServer()
        await server.listen(0, tls=context)
        url = server.url.replace("http://", "https://")
        write_runner_file(tmp_path, url)
        config = write_config(tmp_path, insecure=trust == "insecure")
        server.tasks.append(shell_task(1, "true"))
        variables = {"SSL_CERT_FILE": str(certificate)} if trust == "authority" else {}
        process = await command(tmp_path, "-c", str(config), "daemon", "--once", variables=variables)
        try:
            if trust == "none":
                assert process.stdout is not None
                assert process.stderr is not None
                line = await asyncio.wait_for(process.stderr.readuntil(b"declare_failed"), 20)
                assert line
                process.terminate()
                assert (await finish(process))[0] == Exit.OK
                assert not server.calls
            else:
                code, output = await finish(process)
                assert code == Exit.OK, output
                assert server.final(1).result == pb.RESULT_SUCCESS
        finally:
            await server.close()

    asyncio.run(scenario())


def test_loopback_server_is_never_asked_for_through_a_proxy(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            write_runner_file(tmp_path, server.url)
            config = write_config(tmp_path)
            server.tasks.append(shell_task(1, "echo with secret-of-proxy"))
            dead = "http://user:secret-of-proxy@127.0.0.1:9"
            process = await command(
                tmp_path, "-c", str(config), "daemon", "--once", variables={"HTTP_PROXY": dead, "http_proxy": dead}
            )
            code, output = await finish(process)
            assert code == Exit.OK, output
            assert "with ***" in server.rows[1]
            assert "secret-of-proxy" not in output

    asyncio.run(scenario())
