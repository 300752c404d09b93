"""How the family of a server is found out."""

import pytest

from actionsrunner.core.family import Family, FamilyFinder


def test_nothing_known_behaves_as_gitea() -> None:
    finder = FamilyFinder()
    assert (finder.known, finder.assumed) == (None, Family.GITEA)


def test_configured_family_is_never_changed() -> None:
    finder = FamilyFinder(Family.FORGEJO)
    finder.declared(announces_capabilities=True, ephemeral=False)
    finder.fetched(names=["GITEA_TOKEN"], several=False)
    assert finder.known is Family.FORGEJO


@pytest.mark.parametrize(
    ("announces", "ephemeral", "expected"),
    [(True, False, Family.GITEA), (False, True, Family.FORGEJO), (False, False, None)],
)
def test_declare_answer_tells(announces: bool, ephemeral: bool, expected: Family | None) -> None:
    finder = FamilyFinder()
    finder.declared(announces_capabilities=announces, ephemeral=ephemeral)
    assert finder.known is expected


@pytest.mark.parametrize(
    ("names", "several", "expected"),
    [
        (["GITEA_TOKEN", "FORGEJO_TOKEN"], False, Family.FORGEJO),
        (["forgejo_server_version"], False, Family.FORGEJO),
        (["GITEA_TOKEN", "gitea_runtime_token"], False, Family.GITEA),
        (["GITEA_TOKEN"], True, Family.FORGEJO),
    ],
)
def test_first_task_tells(names: list[str], several: bool, expected: Family) -> None:
    finder = FamilyFinder()
    finder.fetched(names=names, several=several)
    assert finder.known is expected
