"""Runners in memory: authentication, status, write-behind."""

import pytest

from mockgitea.core.errors import NotRegistered
from servicebox import Box, in_box


def test_status_is_computed_from_the_last_calls() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        assert record.status(box.clock.now_us()) == "offline"
        box.services.directory.seen(record, active=False)
        assert record.status(box.clock.now_us()) == "idle"
        box.services.directory.seen(record, active=True)
        assert record.status(box.clock.now_us()) == "active"
        box.clock.advance(10)
        assert record.status(box.clock.now_us()) == "active"
        box.clock.advance(0.000001)
        assert record.status(box.clock.now_us()) == "idle"
        box.clock.advance(50)
        assert record.status(box.clock.now_us()) == "offline"

    in_box(body, "gitea-1.25")


def test_new_servers_let_the_stored_times_lag() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        directory, start = box.services.directory, box.clock.now_us()
        directory.seen(record, active=True)
        box.clock.advance(4.9)
        directory.seen(record, active=True)
        assert (record.last_online_us, record.last_active_us) == (start, start)
        box.clock.advance(0.1)
        directory.seen(record, active=True)
        assert (record.last_online_us, record.last_active_us) == (start, start + 5_000_000)
        box.clock.advance(25)
        directory.seen(record, active=False)
        assert record.last_online_us == start + 30_000_000

    in_box(body)


def test_seen_is_written_behind_on_the_clock() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        box.services.directory.seen(record, active=True)
        assert (await box.runner_row(record.id)).last_online_us == 0
        at = box.clock.now_us()
        await box.services.directory.flush()
        row = await box.runner_row(record.id)
        assert (row.last_online_us, row.last_active_us) == (at, at)

    in_box(body)


@pytest.mark.parametrize("headers", [("", ""), ("nobody", "x"), ("", "x")])
def test_missing_and_unknown_credentials_sound_alike(headers: tuple[str, str]) -> None:
    async def body(box: Box) -> None:
        with pytest.raises(NotRegistered, match=r"^unregistered runner$"):
            box.services.directory.authenticate(*headers)

    in_box(body)


def test_runners_are_listed_by_scope() -> None:
    async def body(box: Box) -> None:
        repo = (await box.services.repositories.get("demo/demo")).id
        everywhere, scoped = await box.runner(), await box.runner(scope=(0, repo))
        directory = box.services.directory
        assert directory.all() == [everywhere, scoped]
        assert directory.by_scope(0, repo) == [scoped]
        assert directory.get(scoped.id) is scoped

    in_box(body)
