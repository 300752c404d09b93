"""The variables of the official image."""

from pathlib import Path

import pytest

from actionsrunner.environment import Environment, read_environment, read_token


def test_unset_variables_are_empty() -> None:
    assert read_environment({}) == Environment()


def test_variables_are_read_and_the_tokens_are_removed() -> None:
    variables = {
        "GITEA_INSTANCE_URL": "http://x",
        "GITEA_RUNNER_REGISTRATION_TOKEN": "secret",
        "GITEA_RUNNER_REGISTRATION_TOKEN_FILE": "f",
        "GITEA_RUNNER_NAME": "n",
        "GITEA_RUNNER_LABELS": "a,b",
        "GITEA_RUNNER_EPHEMERAL": "1",
        "GITEA_RUNNER_ONCE": "1",
        "GITEA_MAX_REG_ATTEMPTS": "3",
        "CONFIG_FILE": "c",
        "RUNNER_STATE_FILE": "s",
    }
    environment = read_environment(variables)
    assert environment == Environment(
        instance="http://x", token="secret", token_file="f", name="n", labels="a,b", ephemeral=True, once=True,
        attempts=3, config_file="c", state_file="s",
    )  # fmt: skip
    assert not [name for name in variables if "TOKEN" in name]
    assert "secret" not in repr(environment)


def test_passwords_of_proxies_are_found_and_not_shown() -> None:
    variables = {"https_proxy": "http://user:p%40ss@proxy:3128", "HTTP_PROXY": "http://proxy:3128", "ALL_PROXY": "x"}
    environment = read_environment(variables)
    assert environment.proxy_passwords == ("p@ss",)
    assert "p@ss" not in repr(environment)


@pytest.mark.parametrize("attempts", ["0", "-1", "many"])
def test_impossible_attempts_are_refused(attempts: str) -> None:
    with pytest.raises(ValueError, match="GITEA_MAX_REG_ATTEMPTS"):
        read_environment({"GITEA_MAX_REG_ATTEMPTS": attempts})


def test_token_comes_from_the_file_unless_it_is_given(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("from-file\n")
    assert read_token(token="", token_file=str(path)) == "from-file"
    assert read_token(token=" given ", token_file=str(path)) == "given"
    assert read_token(token="", token_file="") == ""
    with pytest.raises(ValueError, match="token file"):
        read_token(token="", token_file=str(tmp_path / "none"))
