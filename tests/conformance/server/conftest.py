"""One server process per profile and test worker, reset before each case; dialect expectations from the contract."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rawhttp import Reply
from serverproc import Mock, ServerProcess

SEED = "20261130"


@pytest.fixture(scope="session")
def servers() -> Iterator[Callable[[str], Mock]]:
    """Start servers on demand, one per profile."""
    started: dict[str, Mock] = {}

    def server(profile: str) -> Mock:
        if profile not in started:
            arguments = ["--port", "0", "--control-port", "0", "--profile", profile, "--clock", "offset"]
            started[profile] = Mock(ServerProcess(*arguments, "--seed", SEED), profile)
        return started[profile]

    print(f"seed {SEED}")
    yield server
    for mock in started.values():
        mock.server.stop()


@pytest.fixture
def mock(servers: Callable[[str], Mock], profile: str) -> Mock:
    """The server of this case's profile, with nothing in it but the repository demo/demo."""
    chosen = servers(profile)
    chosen.control("POST", "/reset")
    return chosen


DIALECT = {
    "gitea-1.20": "A", "gitea-1.21": "A", "gitea-1.25": "A", "gitea-1.27": "A", "gitea-next": "C",
    "forgejo-11": "B", "forgejo-15": "B",
}  # fmt: skip
GRPC_NAME = {
    "unauthenticated": "Unauthenticated", "internal": "Internal", "already_exists": "AlreadyExists",
    "invalid_argument": "InvalidArgument",
}  # fmt: skip
STATUS = {"unauthenticated": 401, "internal": 500, "already_exists": 409, "invalid_argument": 400}


@pytest.fixture
def refused(profile: str) -> Callable[..., None]:
    """Assert that a reply is this refusal in the profile's dialect (docs/protocol.md, "Errors")."""

    def check(reply: Reply, code: str, message: str, *, plain: bool = False) -> None:
        dialect = DIALECT[profile]
        genuine = dialect == "B" or (dialect == "C" and code == "unauthenticated")
        if genuine:
            expected: tuple[Any, ...] = (STATUS[code], code, message)
        elif plain:
            expected = (500, "unknown", message)
        else:
            expected = (500, "unknown", f"rpc error: code = {GRPC_NAME[code]} desc = {message}")
        assert reply.header("content-type") == "application/json"
        body = reply.json()
        assert (reply.status, body["code"], body["message"]) == expected

    return check
