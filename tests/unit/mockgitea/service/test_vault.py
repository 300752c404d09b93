"""Secrets and variables: new or changed, renamed, deleted, refused."""

from collections.abc import Awaitable, Callable

import pytest

from lifecycle import Bench, on_bench
from mockgitea.core.errors import Conflict, InvalidInput, NotFound
from mockgitea.service.vault import Vault

Body = Callable[[Vault], Awaitable[None]]


def with_vault(body: Body) -> None:
    async def on(bench: Bench) -> None:
        await body(bench.services.vault)

    on_bench("gitea-1.27", on)


def test_secret_is_new_once() -> None:
    async def body(vault: Vault) -> None:
        assert await vault.set_secret(1, 0, "a", "1") is True
        assert await vault.set_secret(1, 0, "A", "2", description="d") is False
        await vault.delete_secret(1, 0, "a")
        with pytest.raises(NotFound, match="no secret A"):
            await vault.delete_secret(1, 0, "a")

    with_vault(body)


def test_global_secret_is_refused() -> None:
    async def body(vault: Vault) -> None:
        with pytest.raises(InvalidInput, match="owner or a repository"):
            await vault.set_secret(0, 0, "a", "1")

    with_vault(body)


def test_variable_is_created_once_then_updated_or_renamed() -> None:
    async def body(vault: Vault) -> None:
        await vault.create_variable(0, 1, "a", "1")
        with pytest.raises(Conflict, match="A already exists"):
            await vault.create_variable(0, 1, "a", "2")
        await vault.create_variable(0, 1, "b", "1")
        with pytest.raises(Conflict, match="B already exists"):
            await vault.update_variable(0, 1, "a", "2", new_name="b")
        await vault.update_variable(0, 1, "a", "2", new_name="c")
        with pytest.raises(NotFound, match="no variable A"):
            await vault.update_variable(0, 1, "a", "2")
        with pytest.raises(NotFound, match="no variable A"):
            await vault.delete_variable(0, 1, "a")
        await vault.delete_variable(0, 1, "c")

    with_vault(body)


@pytest.mark.parametrize("name", ["CI", "GITEA_X", "1", ""])
def test_bad_variable_name_is_refused(name: str) -> None:
    async def body(vault: Vault) -> None:
        with pytest.raises(InvalidInput):
            await vault.set_variable(0, 0, name, "1")

    with_vault(body)
