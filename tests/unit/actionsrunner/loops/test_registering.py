"""Registration in virtual time."""

import asyncio
from collections.abc import Mapping

import pytest

from actionsrunner.core.family import Family
from actionsrunner.edge.client import Identity, RunnerClient
from actionsrunner.edge.clock import LoopClock
from actionsrunner.edge.registration import Registration
from actionsrunner.edge.transport import RawAnswer, TransportError
from actionsrunner.loops.registering import RegistrationRefused, RegistrationRequest, label_names, register
from actionswire.gen.runner.v1 import runner_pb2 as pb
from virtualtime import run_virtual

OK = {"content-type": "application/proto"}
GOOD = pb.Runner(id=7, uuid="u", token="t", name="n", ephemeral=True)


class Script:
    """Refuses ``down`` pings and ``refusals`` registrations, then answers with ``runner``."""

    def __init__(self, *, down: int = 0, refusals: int = 0, runner: pb.Runner = GOOD) -> None:
        self.down, self.refusals, self.runner = down, refusals, runner
        self.calls: list[tuple[float, str]] = []

    async def send(self, verb: str, path: str, headers: Mapping[str, str], body: bytes, deadline_s: float) -> RawAnswer:
        method = path.rpartition("/")[2]
        self.calls.append((asyncio.get_running_loop().time(), method))
        if method == "Ping":
            self.down -= 1
            if self.down >= 0:
                raise TransportError("refused")
            return RawAnswer(200, OK, b"")
        self.refusals -= 1
        if self.refusals >= 0:
            return RawAnswer(500, {"content-type": "application/json"}, b'{"code": "unknown", "message": "no"}')
        return RawAnswer(200, OK, pb.RegisterResponse(runner=self.runner).SerializeToString())

    async def close(self) -> None:
        pass


def try_it(script: Script, *, attempts: int = 1, ephemeral: bool = False, family: Family | None = None) -> Registration:
    client = RunnerClient(script, version="v", identity=Identity(), family=family)
    request = RegistrationRequest(
        instance="http://x/", token="reg", name="n", labels=["a:host", "b"], ephemeral=ephemeral
    )
    return run_virtual(register(client, LoopClock(), request, attempts=attempts))


def test_server_that_is_down_is_called_once_a_second() -> None:
    script = Script(down=5)
    registration = try_it(script)
    assert [(round(at, 3), method) for at, method in script.calls] == [
        *((float(n), "Ping") for n in range(6)), (5.0, "Register"),
    ]  # fmt: skip
    assert registration == Registration(
        id=7, uuid="u", token="t", name="n", address="http://x", labels=("a:host", "b"), ephemeral=False
    )


def test_attempts_are_five_seconds_apart() -> None:
    script = Script(refusals=2)
    try_it(script, attempts=3)
    assert [round(at, 3) for at, method in script.calls if method == "Register"] == [0, 5, 10]


def test_last_refusal_is_told() -> None:
    with pytest.raises(RegistrationRefused, match="http://x/ answered unknown: no"):
        try_it(Script(refusals=9), attempts=3)


def test_answer_without_identity_is_refused() -> None:
    with pytest.raises(RegistrationRefused, match="without a uuid"):
        try_it(Script(runner=pb.Runner(id=7)))


def test_missing_ephemeral_support_is_tolerated_for_gitea_and_refused_for_forgejo() -> None:
    plain = pb.Runner(id=7, uuid="u", token="t")
    assert try_it(Script(runner=plain), ephemeral=True).ephemeral
    with pytest.raises(RegistrationRefused, match="ephemeral"):
        try_it(Script(runner=plain), ephemeral=True, family=Family.FORGEJO)


def test_label_names_are_told_once_each_without_scheme() -> None:
    assert label_names(["a:host", "a", "b:docker://c:d", "x:y:z"]) == ["a", "b", "x:y:z"]
