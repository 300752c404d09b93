"""Random sequences of calls against the reference model and the real services: no difference, ever.

Every failure prints the seed, the profile and the calls; rerun one with
``MODEL_SEED=<seed> MODEL_PROFILE=<profile> pytest tests/property/test_model_sequences.py``.
"""

import asyncio
import dataclasses
import os
import random
import secrets
from pathlib import Path
from typing import Any, NoReturn

import pytest
import structlog
from drivers import Heard, ServicesDriver
from http_driver import HttpDriver
from model import Model, Refused
from rules import RULES, Rules
from sequences import Sequence

from actionswire.result import Status
from mockgitea.core.transitions import JOB, STEP, TASK, Machine
from serverproc import Mock, ServerProcess

OPERATIONS = int(os.environ.get("MODEL_OPERATIONS", "80"))
REMOTE_OPERATIONS = OPERATIONS
ROUNDS = int(os.environ.get("MODEL_ROUNDS", "2"))
START_US = 1_795_000_000_000_000
SEED = os.environ.get("MODEL_SEED")
PROFILES = [os.environ["MODEL_PROFILE"]] if "MODEL_PROFILE" in os.environ else list(RULES)


@pytest.fixture(autouse=True)
def quiet() -> Any:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    yield
    structlog.reset_defaults()


async def play(profile: str, seed: int, database: str, *, inline: bool, rules: Rules | None = None) -> list[str]:
    """Do one sequence to both; return the calls, or fail with them."""
    calls: list[str] = []
    rng = random.Random(seed)
    model = Model(rules or RULES[profile], START_US)
    driver = ServicesDriver(profile, database, inline=inline, start_us=START_US)
    await driver.open()
    before = await driver.snapshot()
    sequence = Sequence(rng, model, can_restart=database != ":memory:")
    try:
        for _ in range(OPERATIONS):
            name, arguments = sequence.next()
            calls.append(f"{name} {arguments!r}"[:400])
            expected, heard = predicted(model, name, arguments), await observed(driver, name, arguments)
            assert heard == expected, f"{name} answered {str(heard)[:900]}, the model says {str(expected)[:900]}"
            if name == "fetch" and isinstance(heard, tuple) and heard[0] != "refused":
                sequence.seen_versions[arguments["who"]] = heard[0]
            seen = await driver.snapshot()
            wrong = model.follow(seen["versions"])
            assert not wrong, f"versions: {wrong}"
            compare(seen, model.snapshot())
            watch(before, seen)
            before = seen
    except AssertionError as error:
        fail(error, calls, seed, profile)
    finally:
        await driver.close()
    return calls


def fail(error: AssertionError, calls: list[str], seed: int, profile: str) -> NoReturn:
    """Fail with the calls so far, the difference, and how to see it again."""
    listing = "\n".join(f"{number:4} {call}" for number, call in enumerate(calls))
    difference = str(error).partition("\n")[0][:2000]
    rerun = f"MODEL_SEED={seed} MODEL_PROFILE={profile} MODEL_ROUNDS=1 pytest {__file__}"
    pytest.fail(f"{listing}\n\n{difference}\n\nrerun: {rerun}", pytrace=False)


def predicted(model: Model, name: str, arguments: dict[str, Any]) -> Any:
    act = {"restart": "start"}.get(name, name)
    try:
        return getattr(model, act)(**arguments)
    except Refused as refused:
        return ("refused", str(refused))


async def observed(driver: ServicesDriver, name: str, arguments: dict[str, Any]) -> Any:
    try:
        return await driver.do(name, arguments)
    except Heard as heard:
        return ("refused", str(heard))


def compare(seen: dict[str, Any], expected: dict[str, Any]) -> None:
    """Fail naming the first thing that differs."""
    assert seen["runners"] == expected["runners"], f"runners: {seen['runners']} != {expected['runners']}"
    for number, (one, other) in enumerate(zip(seen["runs"], expected["runs"], strict=True), 1):
        assert one == other, f"run {number}: {one} != {other}"
    assert sorted(seen["tasks"]) == sorted(expected["tasks"]), "task ids differ"
    for number, one in seen["tasks"].items():
        for key, value in expected["tasks"][number].items():
            assert one[key] == value, f"task {number} {key}: {str(one[key])[:600]} != {str(value)[:600]}"


def watch(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Fail on a status change that the table of transitions does not have; one call may do several in a row."""
    for number, task in after["tasks"].items():
        old = before["tasks"].get(number)
        legal(TASK, old["status"] if old else "running", task["status"], f"task {number}")
        for position, step in enumerate(task["steps"]):
            legal(STEP, old["steps"][position][0] if old else "waiting", step[0], f"task {number} step {position}")
    for number, run in enumerate(before["runs"]):
        for (name, old_status, _), (_, status, _) in zip(run["jobs"], after["runs"][number]["jobs"], strict=True):
            legal(JOB, old_status, status, f"run {number + 1} {name}")


def legal(machine: Machine, before: str, after: str, what: str) -> None:
    reached, grown = {Status[before.upper()]}, set[Status]()
    while reached != grown:
        grown = set(reached)
        reached |= {following for status in grown for following in machine.get(status, ())}
    assert Status[after.upper()] in reached, f"{what}: {before} may not become {after}"


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("place", ["memory-inline", "file-threaded"])
def test_random_calls_answer_as_the_model_says(profile: str, place: str, tmp_path: Path) -> None:
    for number in range(ROUNDS):
        seed = int(SEED) if SEED else secrets.randbits(32)
        print(f"seed {seed}")
        database = ":memory:" if place == "memory-inline" else str(tmp_path / f"{number}.db")
        calls = asyncio.run(play(profile, seed, database, inline=place == "memory-inline"))
        assert len(calls) == OPERATIONS


def play_remotely(profile: str, seed: int, mock: Mock) -> None:
    """The same against a server process; what a person sees is compared every few calls, counters every time."""
    rules = RULES[profile]
    driver = HttpDriver(mock, has_versions=rules.has_versions)
    model = Model(rules, driver.now_us)
    model.follow(driver.versions())
    sequence = Sequence(random.Random(seed), model, is_remote=True)
    calls: list[str] = []
    try:
        for number in range(REMOTE_OPERATIONS):
            name, arguments = sequence.next()
            calls.append(f"{name} {arguments!r}"[:400])
            expected = predicted(model, name, arguments)
            try:
                heard = driver.do(name, arguments)
            except Heard as refusal:
                heard = ("refused", str(refusal))
            assert heard == expected, f"{name} answered {str(heard)[:900]}, the model says {str(expected)[:900]}"
            if name == "fetch" and heard[0] != "refused":
                sequence.seen_versions[arguments["who"]] = heard[0]
            wrong = model.follow(driver.versions()) if rules.has_versions else ""
            assert not wrong, f"versions: {wrong}"
            if number % 5 == 4:
                compare(driver.snapshot(list(model.tasks)), model.snapshot())
    except AssertionError as error:
        fail(error, calls, seed, profile)


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_random_calls_over_http_answer_as_the_model_says(profile: str, tmp_path: Path) -> None:
    seed = int(SEED) if SEED else secrets.randbits(32)
    print(f"seed {seed}")
    arguments = ["--port", "0", "--control-port", "0", "--profile", profile, "--clock", "manual", "--seed", str(seed)]
    server = ServerProcess(*arguments, "--log-level", "warning", folder=tmp_path)
    try:
        play_remotely(profile, seed, Mock(server, profile))
    finally:
        server.stop()


@pytest.mark.slow
@pytest.mark.parametrize(
    "broken",
    [
        {"bumps_on_finish": False},
        {"empty_runs_on_matches": False},
    ],
    ids=str,
)
def test_broken_rule_is_found(broken: dict[str, Any]) -> None:
    rules = dataclasses.replace(RULES["gitea-1.27"], **broken)
    for seed in range(40):
        try:
            asyncio.run(play("gitea-1.27", seed, ":memory:", inline=True, rules=rules))
        except pytest.fail.Exception as failure:
            assert f"MODEL_SEED={seed}" in str(failure)
            return
    pytest.fail(f"no sequence noticed that {broken}")
