from argparse import Namespace

import httpx
import pytest

from mockgitea.commands.client import CommandFailed, control_client, run_with_client, scope_of
from mockgitea.commands.control_http import ControlClient


def _client(handler: httpx.MockTransport, token: str = "") -> ControlClient:
    return ControlClient("http://control.test", token, transport=handler)


def test_call_to_an_absent_server_says_how_to_start_one() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("connection refused", request=request)

    with pytest.raises(CommandFailed, match=r"no mockgitea at http://control.test .*`mockgitea serve`"):
        _client(httpx.MockTransport(refuse)).call("GET", "/clock")


def test_call_that_times_out_says_after_how_long() -> None:
    def stall(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("too slow", request=request)

    with pytest.raises(CommandFailed, match="within 60 s"):
        _client(httpx.MockTransport(stall)).call("GET", "/clock")


def test_call_that_is_refused_shows_the_servers_sentence() -> None:
    error = {"error": {"code": "not_found", "message": "run_id: no run 9", "field": "run_id"}}
    client = _client(httpx.MockTransport(lambda _: httpx.Response(404, json=error)))
    with pytest.raises(CommandFailed, match=r"^run_id: no run 9$"):
        client.call("GET", "/runs/9")


def test_call_without_the_control_token_names_its_variable() -> None:
    error = {"error": {"code": "unauthenticated", "message": "control token missing or wrong", "field": ""}}
    client = _client(httpx.MockTransport(lambda _: httpx.Response(401, json=error)))
    with pytest.raises(CommandFailed, match="MOCKGITEA_CONTROL_TOKEN"):
        client.call("GET", "/runs")


@pytest.mark.parametrize("answer", [httpx.Response(404, text="404 page not found"), httpx.Response(200, text="<html>")])
def test_call_to_another_kind_of_server_says_so(answer: httpx.Response) -> None:
    with pytest.raises(CommandFailed, match="control port of a mockgitea; check --server"):
        _client(httpx.MockTransport(lambda _: answer)).call("GET", "/clock")


def test_call_sends_the_token_as_bearer_and_leaves_out_empty_query_parameters() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(204)

    assert _client(httpx.MockTransport(answer), "t0ken").call("GET", "/runs", query={"a": 1, "b": None}) is None
    assert seen[0].headers["authorization"] == "Bearer t0ken"
    assert str(seen[0].url) == "http://control.test/control/v1/runs?a=1"


@pytest.mark.parametrize("url", ["nonsense", "ftp://host", "http://host:port"])
def test_address_that_is_no_url_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(CommandFailed, match=r"--server: .* is not a URL"):
        ControlClient(url).call("GET", "/clock")


def test_address_comes_from_option_then_environment_then_default() -> None:
    def chosen(server: str | None, environ: dict[str, str]) -> str:
        client = control_client(Namespace(server=server, environ=environ))
        client.close()
        return client.url

    environ = {"MOCKGITEA_CONTROL_URL": "http://env.test/"}
    assert chosen("http://option.test", environ) == "http://option.test"
    assert chosen(None, environ) == "http://env.test"
    assert chosen(None, {}) == "http://127.0.0.1:3001"


def test_failed_command_is_one_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    def fail(_client: ControlClient) -> int:
        raise CommandFailed("it is broken; fix it")

    assert run_with_client(Namespace(command="clock", server=None, environ={}), fail) == 1
    captured = capsys.readouterr()
    assert captured.err == "mockgitea clock: it is broken; fix it\n"
    assert captured.out == ""


@pytest.mark.parametrize(
    ("text", "scope"), [("", {}), ("octo", {"owner": "octo"}), ("octo/app", {"repository": "octo/app"})]
)
def test_scope_follows_from_the_slash(text: str, scope: dict[str, str]) -> None:
    assert scope_of(text) == scope
