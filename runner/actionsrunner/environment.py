"""The environment variables of the official runner image, read in one place."""

import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

TOKEN_VARIABLES: Final = ("GITEA_RUNNER_REGISTRATION_TOKEN", "GITEA_RUNNER_REGISTRATION_TOKEN_FILE")
_ATTEMPTS_DEFAULT: Final = 10
_PROXY_VARIABLES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What the environment says; empty strings are variables that are not set."""

    instance: str = ""
    token: str = field(default="", repr=False)
    token_file: str = ""
    name: str = ""
    labels: str = ""
    ephemeral: bool = False
    once: bool = False
    attempts: int = _ATTEMPTS_DEFAULT
    config_file: str = ""
    state_file: str = ""
    proxy_passwords: tuple[str, ...] = field(default=(), repr=False)
    """Passwords inside the proxy variables, which must not reach a log."""


def read_environment(variables: MutableMapping[str, str] | None = None) -> Environment:
    """Return what ``variables`` (by default the process's) say, and remove the registration token from them.

    A job inherits the runner's environment, so the token must not stay in it.

    Raises:
        ValueError: a variable has an impossible value; the text names it.
    """
    source = os.environ if variables is None else variables
    attempts = source.get("GITEA_MAX_REG_ATTEMPTS", "") or str(_ATTEMPTS_DEFAULT)
    if not attempts.isdecimal() or int(attempts) < 1:
        raise ValueError(f"GITEA_MAX_REG_ATTEMPTS: {attempts!r} is not a whole number above 0")
    environment = Environment(
        instance=source.get("GITEA_INSTANCE_URL", ""),
        token=source.get("GITEA_RUNNER_REGISTRATION_TOKEN", ""),
        token_file=source.get("GITEA_RUNNER_REGISTRATION_TOKEN_FILE", ""),
        name=source.get("GITEA_RUNNER_NAME", ""),
        labels=source.get("GITEA_RUNNER_LABELS", ""),
        ephemeral=bool(source.get("GITEA_RUNNER_EPHEMERAL")),
        once=bool(source.get("GITEA_RUNNER_ONCE")),
        attempts=int(attempts),
        config_file=source.get("CONFIG_FILE", ""),
        state_file=source.get("RUNNER_STATE_FILE", ""),
        proxy_passwords=_proxy_passwords(source),
    )
    for name in TOKEN_VARIABLES:
        source.pop(name, None)
    return environment


def read_token(*, token: str, token_file: str) -> str:
    """Return the registration token, from the file if there is no token itself.

    Raises:
        ValueError: the file cannot be read; the text names it.
    """
    if token or not token_file:
        return token.strip()
    try:
        return Path(token_file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"token file {token_file}: {error}") from error


def _proxy_passwords(source: Mapping[str, str]) -> tuple[str, ...]:
    values = (source.get(spelling, "") for name in _PROXY_VARIABLES for spelling in (name, name.lower()))
    passwords = (urlsplit(value).password for value in values)
    return tuple(dict.fromkeys(unquote(password) for password in passwords if password))
