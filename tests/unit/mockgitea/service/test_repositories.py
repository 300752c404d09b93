"""Repositories exist because someone made them."""

import pytest

from lifecycle import Bench, on_bench
from mockgitea.core.errors import InvalidInput, NotFound


def test_ensure_makes_owner_and_repository_once() -> None:
    async def body(bench: Bench) -> None:
        repositories = bench.services.repositories
        made = await repositories.ensure("Acme", "site", "org")
        assert made.full_name == "Acme/site"
        assert await repositories.ensure("acme", "SITE") == made
        assert await repositories.get("acme/site") == made
        assert (await repositories.ensure("ACME", "two")).owner_id == made.owner_id
        assert await repositories.ensure_owner("acme") == made.owner_id

    on_bench("gitea-1.27", body)


def test_unknown_repository_is_named_with_the_fix() -> None:
    async def body(bench: Bench) -> None:
        with pytest.raises(NotFound, match=r"no 'a/b' \(there is demo/demo\); create it"):
            await bench.services.repositories.get("a/b")

    on_bench("gitea-1.27", body)


@pytest.mark.parametrize("name", ["", "a", "a/", "/b", "a/b/c"])
def test_text_that_is_no_full_name_is_refused(name: str) -> None:
    async def body(bench: Bench) -> None:
        with pytest.raises(InvalidInput, match="owner/name"):
            await bench.services.repositories.get(name)

    on_bench("gitea-1.27", body)


@pytest.mark.parametrize(("owner", "name", "kind"), [("a b", "c", "user"), ("a", "..", "user"), ("a", "b", "team")])
def test_bad_names_and_kinds_are_refused(owner: str, name: str, kind: str) -> None:
    async def body(bench: Bench) -> None:
        with pytest.raises(InvalidInput):
            await bench.services.repositories.ensure(owner, name, kind)

    on_bench("gitea-1.27", body)
