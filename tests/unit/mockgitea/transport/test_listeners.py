import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from mockgitea.settings import SettingError
from mockgitea.supervise import Supervisor
from mockgitea.transport.asgi import respond
from mockgitea.transport.listeners import Listener, bind, check_tls, url_host


async def hello(scope: Any, receive: Any, send: Any) -> None:
    await respond(send, 200, [(b"content-length", b"5")], b"hello")


async def request(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


def test_bind_to_port_zero_reads_the_real_port_back() -> None:
    with bind("127.0.0.1", 0, setting="port") as bound:
        assert bound.getsockname()[1] > 0


def test_bind_to_a_taken_port_names_the_setting_and_a_fix() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingError, match=rf"^control_port: .*{port}.*another port"):
            bind("127.0.0.1", port, setting="control_port")


def test_bind_to_an_impossible_host_names_the_host_setting() -> None:
    with pytest.raises(SettingError, match=r"^host: cannot resolve"):
        bind("no such host", 0, setting="port")
    with pytest.raises(SettingError, match=r"^control_port: .*check control_host"):
        bind("192.0.2.1", 0, setting="control_port")


@pytest.mark.parametrize(
    ("host", "shown"),
    [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::", "[::1]"), ("::1", "[::1]"), ("ci.test", "ci.test")],
)
def test_url_host_is_one_that_a_client_can_use(host: str, shown: str) -> None:
    assert url_host(host) == shown


def test_check_tls_names_the_setting_for_a_file_that_is_no_certificate(tmp_path: Path) -> None:
    check_tls("", "")
    broken = tmp_path / "c.pem"
    broken.write_text("nothing")
    for cert in (str(broken), str(tmp_path / "nowhere.pem")):
        with pytest.raises(SettingError, match=r"^tls_cert:"):
            check_tls(cert, str(broken))


def test_a_listener_answers_from_start_to_close_and_names_no_software() -> None:
    async def scenario() -> None:
        supervisor = Supervisor()
        listener = Listener(hello, bind("127.0.0.1", 0, setting="port"))
        await listener.start(supervisor)
        answer = await request(listener.port)
        assert answer.startswith(b"HTTP/1.1 200")
        assert b"date:" in answer
        assert b"server:" not in answer
        await listener.close()
        await listener.close()
        with pytest.raises(OSError, match="Connect call failed"):
            await request(listener.port)
        await supervisor.close()

    asyncio.run(scenario())


def test_closing_lets_a_call_in_progress_finish() -> None:
    async def scenario() -> None:
        entered, go_on = asyncio.Event(), asyncio.Event()

        async def slow(scope: Any, receive: Any, send: Any) -> None:
            entered.set()
            await go_on.wait()
            await hello(scope, receive, send)

        supervisor = Supervisor()
        listener = Listener(slow, bind("127.0.0.1", 0, setting="port"))
        await listener.start(supervisor)
        calling = asyncio.ensure_future(request(listener.port))
        await entered.wait()
        closing = asyncio.ensure_future(listener.close())
        await asyncio.sleep(0)
        go_on.set()
        assert (await calling).endswith(b"hello")
        await closing
        await supervisor.close()

    asyncio.run(scenario())


def test_a_listener_that_never_started_closes_its_socket() -> None:
    bound = bind("127.0.0.1", 0, setting="port")
    asyncio.run(Listener(hello, bound).close())
    assert bound.fileno() == -1


def test_a_paused_listener_refuses_keeps_its_port_and_resumes() -> None:
    async def scenario() -> None:
        supervisor = Supervisor()
        listener = Listener(hello, bind("127.0.0.1", 0, setting="port"))
        await listener.start(supervisor)
        for _ in range(2):
            await listener.pause()
            await listener.pause()
            with pytest.raises(ConnectionRefusedError):
                await request(listener.port)
            with pytest.raises(SettingError), bind("127.0.0.1", listener.port, setting="port") as thief:
                thief.listen()
            await listener.resume()
            await listener.resume()
            assert (await request(listener.port)).endswith(b"hello")
        await listener.pause()
        await listener.close()
        await supervisor.close()
        bind("127.0.0.1", listener.port, setting="port").close()

    asyncio.run(scenario())


def test_cut_resets_open_connections_and_drain_closes_idle_ones() -> None:
    async def scenario() -> None:
        supervisor = Supervisor()
        listener = Listener(hello, bind("127.0.0.1", 0, setting="port"))
        await listener.start(supervisor)
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"hello")
        assert listener.cut() == 1
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"hello")
        await listener.drain()
        assert await reader.read() == b""
        writer.close()
        assert listener.cut() == 0
        await listener.close()
        await supervisor.close()

    asyncio.run(scenario())
