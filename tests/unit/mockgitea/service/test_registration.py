"""Register, Declare, tokens and what a person does to runners."""

import asyncio
import re
from pathlib import Path

import pytest
from sqlalchemy import delete

from mockgitea.core.errors import BadRegistration, Conflict, InvalidInput, NotFound, NotRegistered, RegistrationFault
from mockgitea.core.messages import Registering
from mockgitea.storage.schema import repository
from servicebox import Box, in_box


def test_register_makes_a_runner_each_time_and_shows_the_token_once() -> None:
    async def body(box: Box) -> None:
        registration = box.services.registration
        token = await registration.registration_token(0, 0)
        assert re.fullmatch(r"[0-9A-Za-z]{40}", token)
        request = Registering(name="r1", token=token, version="v3", labels=("a", "b"), capabilities=("cancelling",))
        first, plain = await registration.register(request)
        second, other = await registration.register(request)
        assert re.fullmatch(r"[0-9a-f]{40}", plain)
        assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", first.uuid)
        assert (first.id, first.uuid) != (second.id, second.uuid)
        assert (first.name, first.version, first.labels, first.has_cancelling) == ("r1", "v3", ("a", "b"), True)
        assert box.services.directory.authenticate(first.uuid, plain) is first
        with pytest.raises(NotRegistered):
            box.services.directory.authenticate(first.uuid, other)
        row = await box.runner_row(first.id)
        assert plain not in str(row)

    in_box(body)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "missing runner token, name"),
        ({"token": ""}, "missing runner token, name"),
        ({"token": "nonsense"}, "runner registration token not found"),
    ],
)
def test_register_refuses_in_the_servers_words(fields: dict[str, str], message: str) -> None:
    async def body(box: Box) -> None:
        good = {"name": "r", "token": await box.services.registration.registration_token(0, 0)}
        with pytest.raises(BadRegistration) as refused:
            await box.services.registration.register(Registering(**(good | fields)))
        assert refused.value.message == message

    in_box(body)


def test_reset_ends_older_tokens_of_the_scope_and_only_those() -> None:
    async def body(box: Box) -> None:
        registration = box.services.registration
        scoped = (await box.services.repositories.get("demo/demo")).id
        old, elsewhere = await registration.registration_token(0, 0), await registration.registration_token(0, scoped)
        assert await registration.registration_token(0, 0) == old
        new = await registration.registration_token(0, 0, reset=True)
        assert new != old
        with pytest.raises(BadRegistration, match="has been invalidated, please use the latest one"):
            await registration.register(Registering(name="r", token=old))
        record, _ = await registration.register(Registering(name="r", token=elsewhere))
        assert (record.owner_id, record.repo_id) == (0, scoped)
        await box.services.store.write(lambda tx: tx.conn.execute(delete(repository)).rowcount)
        with pytest.raises(RegistrationFault, match="repository of the token not found"):
            await registration.register(Registering(name="r", token=elsewhere))

    in_box(body)


def test_preset_token_is_valid_until_reset_and_known_ones_are_left_alone() -> None:
    async def body(box: Box) -> None:
        registration, preset = box.services.registration, "p" * 40
        assert await registration.registration_token(0, 0) == preset
        new = await registration.registration_token(0, 0, reset=True)
        await registration.preset(preset)
        assert await registration.registration_token(0, 0) == new
        with pytest.raises(InvalidInput, match="at most 64 characters"):
            await registration.preset("x" * 65)

    in_box(body, registration_token="p" * 40)


def test_declare_replaces_labels_version_and_capability() -> None:
    async def body(box: Box) -> None:
        record = await box.runner("a", "b", capabilities=("cancelling",))
        declared = await box.services.registration.declare(record, version="v9", labels=["b"], capabilities=[])
        assert (declared.labels, declared.version, declared.has_cancelling) == (("b",), "v9", False)
        row = await box.runner_row(record.id)
        assert (row.labels, row.version, row.has_cancelling) == (["b"], "v9", False)
        await box.services.registration.delete_runner(record.id)
        with pytest.raises(NotRegistered):
            await box.services.registration.declare(record, version="v9", labels=[], capabilities=[])

    in_box(body)


@pytest.mark.parametrize(
    ("profile", "ephemeral", "labels"),
    [("gitea-1.21", False, ("old",)), ("gitea-1.25", True, ()), ("forgejo-11", False, ()), ("forgejo-15", True, ())],
)
def test_older_servers_ignore_what_they_do_not_know(profile: str, ephemeral: bool, labels: tuple[str, ...]) -> None:
    async def body(box: Box) -> None:
        token = await box.services.registration.registration_token(0, 0)
        record, _ = await box.services.registration.register(
            Registering(name="r", token=token, agent_labels=("old",), ephemeral=True, capabilities=("cancelling",))
        )
        assert (record.is_ephemeral, record.labels, record.has_cancelling) == (ephemeral, labels, False)
        assert len(token) == (43 if profile == "forgejo-15" else 40)

    in_box(body, profile)


def test_runner_made_by_a_person_works_and_bad_wishes_are_refused() -> None:
    async def body(box: Box) -> None:
        registration = box.services.registration
        record, plain = await registration.create_runner(name="made", labels=["x"], ephemeral=True, uuid="u", token="t")
        assert (plain, record.is_ephemeral, box.services.directory.authenticate("u", "t")) == ("t", True, record)
        with pytest.raises(Conflict, match="UUID u exists already"):
            await registration.create_runner(name="twin", uuid="u")
        with pytest.raises(InvalidInput, match="name: must not be empty"):
            await registration.create_runner(name="")
        with pytest.raises(NotFound, match="runner 99 does not exist"):
            await registration.delete_runner(99)

    in_box(body)


def test_profile_without_disabling_says_so() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        with pytest.raises(InvalidInput, match=r"disabled: gitea-1\.25 cannot disable runners"):
            await box.services.registration.update_runner(record.id, disabled=True)
        changed = await box.services.registration.update_runner(record.id, description="mine")
        assert changed.description == "mine"

    in_box(body, "gitea-1.25")


def test_restart_keeps_runners_tokens_and_versions_and_draws_new_ids(tmp_path: Path) -> None:
    path = str(tmp_path / "a.db")

    async def first() -> tuple[str, str, str]:
        async with Box(database=path) as box:
            token = await box.services.registration.registration_token(0, 0)
            record, plain = await box.services.registration.register(Registering(name="r", token=token))
            await box.enqueue()
            box.services.directory.seen(record, active=True)
            return record.uuid, plain, token

    async def second(uuid: str, plain: str, token: str) -> None:
        async with Box(database=path) as box:
            record = box.services.directory.authenticate(uuid, plain)
            assert record.last_active_us
            assert box.services.versions.current(0, 0) == 1
            assert await box.services.registration.registration_token(0, 0) == token
            other, _ = await box.services.registration.register(Registering(name="r", token=token))
            assert other.uuid != uuid

    asyncio.run(second(*asyncio.run(first())))
