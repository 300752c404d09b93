"""The short way must leave behind exactly what the long way does, for polls that take it and for all others."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from actionswire.gen.runner.v1 import runner_pb2 as pb
from asgicall import Response, call, http_scope
from mockgitea.clock import MovableClock
from mockgitea.core.calls import Outcome
from mockgitea.core.counters import Counters
from mockgitea.core.faults import Fault, FaultKind, Stage
from mockgitea.core.journal import Entry, Journal
from mockgitea.core.profiles import PROFILES
from mockgitea.service.container import Services
from mockgitea.settings import Settings
from mockgitea.transport.admission import Admission
from mockgitea.transport.fault_gate import FaultGate
from mockgitea.transport.idle_fetch import BODY_BYTES_MAX, PATH, IdleFetch
from mockgitea.transport.methods import RunnerMethods
from mockgitea.transport.rpc import RunnerRpc

UUID = "11111111-2222-4333-8444-555555555555"
TOKEN = "ab" * 20
HEADERS = {"Content-Type": "application/proto", "x-runner-uuid": UUID, "x-runner-token": TOKEN}
IDLE = pb.FetchTaskRequest(tasks_version=1).SerializeToString()
WITH_CAPACITY = pb.FetchTaskRequest(tasks_version=1, task_capacity=3).SerializeToString()
OTHER_VERSION = pb.FetchTaskRequest(tasks_version=7).SerializeToString()

SHORT: dict[str, tuple[dict[str, str], bytes]] = {
    "bare": ({}, IDLE),
    "as a Go client sends it": (
        {"Connect-Protocol-Version": "1", "Connect-Timeout-Ms": "5000", "Accept-Encoding": "gzip"},
        IDLE,
    ),
    "capacity": ({}, WITH_CAPACITY),
    "unknown field": ({}, IDLE + b"\xf8\x07\x01"),
}
LONG: dict[str, tuple[dict[str, str], bytes]] = {
    "version zero": ({}, b""),
    "other version": ({}, OTHER_VERSION),
    "JSON": ({"Content-Type": "application/json"}, b'{"tasksVersion":"1"}'),
    "wrong token": ({"x-runner-token": "no"}, IDLE),
    "unknown runner": ({"x-runner-uuid": "no"}, IDLE),
    "undecodable": ({}, b"\xff\xff"),
    "large": ({}, IDLE + b"\xfa\x3e\xff\x03" + b"x" * 511),
    "wrong protocol version": ({"Connect-Protocol-Version": "2"}, IDLE),
    "unknown compression": ({"Content-Encoding": "br"}, IDLE),
    "no content type": ({"Content-Type": ""}, IDLE),
    "time-out over": ({"Connect-Timeout-Ms": "0"}, IDLE),
    "time-out unreadable": ({"Connect-Timeout-Ms": "soon"}, IDLE),
    "time-out too long": ({"Connect-Timeout-Ms": "12345678901"}, IDLE),
}


class Port:
    """A runner port over real services, with or without the short way."""

    def __init__(self, services: Services, *, short: bool) -> None:
        self.journal = Journal(entries_max=100, bytes_max=100_000)
        self.counters = Counters()
        self.faults = FaultGate(services.clock)
        self.long_calls = 0
        self._long = RunnerRpc(
            RunnerMethods(services),
            dialect=services.profile.dialect,
            faults=self.faults,
            body_bytes_max=1000,
            body_read_s=5.0,
            now_s=lambda: 100.0,
        )
        self.app = Admission(
            rpc=IdleFetch(self._count, services, now_s=lambda: 100.0) if short else self._count,
            web=self._web, journal=self.journal, counters=self.counters, faults=self.faults,
            clock=services.clock, now_s=lambda: 100.0,
        )  # fmt: skip

    def _count(self, *arguments: Any) -> Awaitable[None]:
        self.long_calls += 1
        return self._long(*arguments)

    async def _web(self, scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("not asked for")

    async def poll(self, headers: dict[str, str], *pieces: bytes, verb: str = "POST") -> Response:
        return await call(self.app, http_scope(verb, PATH, HEADERS | headers), *pieces)

    @property
    def traces(self) -> tuple[list[dict[str, Any]], dict[str, Any], int]:
        """Everything that is left behind."""
        entries = [{name: getattr(entry, name) for name in Entry.__slots__} for entry in self.journal]
        return entries, self.counters.snapshot(), self.journal.bytes_kept


def with_ports(profile: str, check: Callable[[Port, Port], Awaitable[None]]) -> None:
    """Run ``check`` with the long way alone and with both; the runner exists and its version is 1."""

    async def run() -> None:
        settings = replace(Settings(), profile=profile, database=":memory:", seed=1, app_url="http://localhost/")
        clock = MovableClock("manual", start_us=1_700_000_000_000_000)
        services = Services.build(settings, clock=clock, inline_store=True)
        await services.start()
        try:
            await services.registration.create_runner(name="r", labels=("linux",), uuid=UUID, token=TOKEN)
            long, short = Port(services, short=False), Port(services, short=True)
            for port in (long, short):
                await port.poll({}, b"")
                port.long_calls = 0
            await check(long, short)
        finally:
            await services.close()

    asyncio.run(run())


def same_after(headers: dict[str, str], *pieces: bytes, profile: str = "gitea-1.27", verb: str = "POST") -> int:
    """Poll both ways, compare everything, and return how many calls the port with the short way sent the long way."""
    counts: list[int] = []

    async def check(long: Port, short: Port) -> None:
        expected = await long.poll(headers, *pieces, verb=verb)
        assert await short.poll(headers, *pieces, verb=verb) == expected
        assert short.traces == long.traces
        counts.append(short.long_calls)

    with_ports(profile, check)
    return counts[0]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", SHORT)
def test_idle_poll_leaves_the_same_behind(case: str, profile: str) -> None:
    headers, body = SHORT[case]
    is_long = not PROFILES[profile].has_tasks_version
    assert same_after(headers, body, profile=profile) == is_long


@pytest.mark.parametrize("case", LONG)
def test_any_other_poll_goes_the_long_way(case: str) -> None:
    headers, body = LONG[case]
    assert same_after(headers, body) == 1


@pytest.mark.parametrize("profile", PROFILES)
def test_request_key_matters_only_where_the_profile_knows_it(profile: str) -> None:
    known = PROFILES[profile]
    is_long = known.request_key or not known.has_tasks_version
    assert same_after({"x-runner-request-key": "k"}, IDLE, profile=profile) == is_long


def test_poll_in_pieces_goes_the_long_way_whole() -> None:
    assert same_after({}, IDLE[:1], IDLE[1:]) == 1


def test_get_goes_the_long_way() -> None:
    assert same_after({}, IDLE, verb="GET") == 1


def test_body_limit_is_below_the_large_case() -> None:
    assert len(LONG["large"][1]) > BODY_BYTES_MAX


def test_new_version_is_answered_after_the_old_one() -> None:
    async def check(_: Port, short: Port) -> None:
        first = await short.poll({}, IDLE)
        assert pb.FetchTaskResponse.FromString(first.body).tasks_version == 1
        assert pb.FetchTaskResponse.FromString((await short.poll({}, OTHER_VERSION)).body).tasks_version == 1
        assert (await short.poll({}, IDLE)).body == first.body
        assert short.counters.snapshot()["calls"] == {"FetchTask": {"empty": 4}}

    with_ports("gitea-1.27", check)


def test_fault_still_acts_on_an_idle_poll() -> None:
    async def check(_: Port, short: Port) -> None:
        short.faults.add(Fault(name="f", kind=FaultKind.REFUSE, stage=Stage.BEFORE))
        response = await short.poll({}, IDLE)
        assert response.status != 200
        assert short.journal.entries()[-1].fault == "f"
        assert short.journal.entries()[-1].outcome is not Outcome.EMPTY

    with_ports("gitea-1.27", check)
