"""Names and values of secrets and variables."""

import pytest

from mockgitea.core.errors import InvalidInput
from mockgitea.core.profiles import profile_named
from mockgitea.core.vault_names import VALUE_BYTES_MAX, checked_name, checked_value, checked_variable_name

GITEA, FORGEJO = profile_named("gitea-1.27"), profile_named("forgejo-15")


@pytest.mark.parametrize(("name", "stored"), [("token", "TOKEN"), ("_a1", "_A1"), ("FORGEJO_X", "FORGEJO_X")])
def test_good_name_is_upper_cased(name: str, stored: str) -> None:
    assert checked_name(name, profile=GITEA) == stored


@pytest.mark.parametrize("name", ["", "1a", "a-b", "a b", "ä", "GITHUB_X", "gitea_x", "x" * 256, "a\n"])
def test_bad_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="invalid secret or variable name"):
        checked_name(name, profile=GITEA)


def test_forgejo_keeps_its_own_prefix() -> None:
    with pytest.raises(InvalidInput, match="FORGEJO_ is reserved"):
        checked_name("forgejo_x", profile=FORGEJO)


def test_variable_may_not_be_called_ci() -> None:
    assert checked_name("ci", profile=GITEA) == "CI"
    with pytest.raises(InvalidInput, match="reserved for the runner"):
        checked_variable_name("ci", profile=GITEA)


def test_value_gets_unix_line_ends_and_has_a_limit() -> None:
    assert checked_value("a\r\nb") == "a\nb"
    with pytest.raises(InvalidInput, match="more than 65536"):
        checked_value("x" * (VALUE_BYTES_MAX + 1))
