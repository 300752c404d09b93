"""The control API over HTTP, as the commands use it: one call, and errors that tell a person what to do."""

from collections.abc import Mapping
from typing import Any, Final

import httpx

from mockgitea.commands.client import DEFAULT_URL, TOKEN_ENV, URL_ENV, CommandFailed

PREFIX: Final = "/control/v1"
TIMEOUT_S: Final = 60.0


class ControlClient:
    """One server's control API.

    Args:
        url: address of the control port.
        token: control token; empty when the server asks for none.
        transport: replaces the network, for tests.
    """

    def __init__(self, url: str, token: str = "", *, transport: httpx.BaseTransport | None = None) -> None:
        self.url = url.rstrip("/")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            # The control port is on this machine or a test's network: proxies of the environment are not for it.
            self._http = httpx.Client(
                base_url=self.url, headers=headers, timeout=TIMEOUT_S, transport=transport, trust_env=False
            )
        except (httpx.InvalidURL, UnicodeError) as error:
            raise CommandFailed(f"--server: {url!r} is not a URL; write it like {DEFAULT_URL}") from error

    def call(self, verb: str, path: str, body: object = None, *, query: Mapping[str, Any] | None = None) -> Any:
        """Do one call and return the decoded answer, None for an empty one.

        Args:
            verb: HTTP method.
            path: below `/control/v1`.
            body: sent as JSON when it is not None.
            query: parameters; those that are None are left out.

        Raises:
            CommandFailed: the server is not there, refused, or is no mockgitea.
        """
        answer = self._answer(verb, path, body, query)
        try:
            return answer.json() if answer.content else None
        except ValueError as error:
            raise CommandFailed(f"{self.url} is not the control port of a mockgitea; check --server") from error

    def text(self, path: str, *, query: Mapping[str, Any] | None = None) -> str:
        """Get a text; raises `CommandFailed` as `call` does."""
        return self._answer("GET", path, None, query).text

    def _answer(self, verb: str, path: str, body: object, query: Mapping[str, Any] | None) -> httpx.Response:
        parameters = {name: value for name, value in (query or {}).items() if value is not None}
        try:
            answer = self._http.request(verb, PREFIX + path, params=parameters, json=body)
        except httpx.UnsupportedProtocol as error:
            raise CommandFailed(f"--server: {self.url!r} is not a URL; write it like {DEFAULT_URL}") from error
        except httpx.TimeoutException as error:
            raise CommandFailed(f"no answer from {self.url} within {TIMEOUT_S:.0f} s") from error
        except httpx.TransportError as error:
            raise CommandFailed(
                f"no mockgitea at {self.url} ({error}); start one with `mockgitea serve`, "
                f"or name its control port with --server or {URL_ENV}"
            ) from error
        if answer.is_error:
            raise CommandFailed(_refusal(answer, self.url))
        return answer

    def close(self) -> None:
        """Close the connection."""
        self._http.close()


def _refusal(answer: httpx.Response, url: str) -> str:
    try:
        error = answer.json()["error"]
        message = str(error["message"])
    except (ValueError, KeyError, TypeError):
        return f"{url} answered {answer.status_code} and is not the control port of a mockgitea; check --server"
    if answer.status_code == 401:
        return f"{message} (set {TOKEN_ENV})"
    return message
