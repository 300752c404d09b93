"""`actionsrunner register`: make this runner known to a server and write the `.runner` file."""

import argparse
import asyncio
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from actionsrunner.app import build_client
from actionsrunner.config import Config, ConfigInvalid, load_config
from actionsrunner.edge.client import Identity
from actionsrunner.edge.clock import LoopClock
from actionsrunner.edge.registration import Registration, write_registration
from actionsrunner.environment import Environment, read_environment, read_token
from actionsrunner.exits import Exit
from actionsrunner.logs import set_up_logs
from actionsrunner.loops.registering import RegistrationRefused, RegistrationRequest, register
from actionswire.labels import parse_label

LABELS_DEFAULT: Final = ("ubuntu-latest:host", "ubuntu-24.04:host", "ubuntu-22.04:host")
"""The names that Gitea's runner takes by default; here they mean this host, since there are no containers."""


class Incomplete(Exception):
    """Something needed for registration is missing or impossible; the text says what."""


def run(args: argparse.Namespace) -> int:
    """Register; return the exit status."""
    try:
        environment = read_environment()
        config = load_config(config_path(args.config, environment))
        set_up_logs(level=config.text("log.level"), form=config.text("log.format"))
        path = registration_path(config, environment)
        request = _request(args, config, environment)
        if not args.no_interactive:
            request = _ask(request, path)
        check_request(request)
        register_to(path, config, request)
    except (ConfigInvalid, Incomplete, RegistrationRefused, ValueError, OSError) as error:
        sys.stderr.write(f"actionsrunner: {error}\n")
        return Exit.FAILED
    sys.stdout.write("Runner registered successfully.\n")
    return Exit.OK


def config_path(given: str | None, environment: Environment) -> Path | None:
    """Return the configuration file to read: the flag's, else that of CONFIG_FILE, else none."""
    name = given or environment.config_file
    return Path(name) if name else None


def registration_path(config: Config, environment: Environment) -> Path:
    """Return where the `.runner` file is: RUNNER_STATE_FILE unless the configuration names one."""
    if environment.state_file and "runner.file" not in config.given:
        return Path(environment.state_file)
    return Path(config.text("runner.file") or ".runner")


def register_to(path: Path, config: Config, request: RegistrationRequest, *, attempts: int = 1) -> Registration:
    """Register and write the file; see `loops.registering.register` for what is raised."""
    registration = asyncio.run(_register(config, request, attempts))
    write_registration(path, registration)
    return registration


async def _register(config: Config, request: RegistrationRequest, attempts: int) -> Registration:
    client = build_client(config, request.instance, Identity())
    try:
        return await register(client, LoopClock(), request, attempts=attempts)
    finally:
        await client.close()


def split_labels(text: str) -> tuple[str, ...]:
    """Return the labels of a comma-separated list, without the empty ones."""
    return tuple(label for label in (part.strip() for part in text.split(",")) if label)


def check_request(request: RegistrationRequest) -> None:
    """Refuse what no server could accept.

    Raises:
        Incomplete: with the flag or variable to set.
    """
    parts = urlsplit(request.instance)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Incomplete(f"the instance must be an http:// or https:// URL, not {request.instance!r} (--instance)")
    if not request.token:
        raise Incomplete("a registration token is needed (--token, --token-file or GITEA_RUNNER_REGISTRATION_TOKEN)")
    for text in request.labels:
        label = parse_label(text)
        if label is None or not label.name.strip():
            raise Incomplete(f"{text!r} is not a label; write name or name:host (--labels)")


def unattended_request(config: Config, environment: Environment, *, labels: Sequence[str] = ()) -> RegistrationRequest:
    """Return what the environment wants to register.

    Raises:
        ValueError: the token's file cannot be read.
    """
    return RegistrationRequest(
        instance=environment.instance,
        token=read_token(token=environment.token, token_file=environment.token_file),
        name=environment.name or socket.gethostname(),
        labels=config.texts("runner.labels") or tuple(labels) or split_labels(environment.labels) or LABELS_DEFAULT,
        ephemeral=environment.ephemeral,
    )


def _request(args: argparse.Namespace, config: Config, environment: Environment) -> RegistrationRequest:
    flags = split_labels(args.labels)
    return RegistrationRequest(
        instance=args.instance,
        token=read_token(token=args.token or environment.token, token_file=args.token_file or environment.token_file),
        name=args.name or socket.gethostname(),
        labels=config.texts("runner.labels") or flags or LABELS_DEFAULT,
        ephemeral=args.ephemeral,
    )


def _ask(request: RegistrationRequest, path: Path, answer: Callable[[str], str] = input) -> RegistrationRequest:
    """Ask a person for what is missing, with what is known as the default.

    Raises:
        Incomplete: the person does not want the existing file to be overwritten, or there is nobody to ask.
    """
    try:
        if path.is_file() and answer(f"{path} exists. Register again and overwrite it? [y/N] ").lower() != "y":
            raise Incomplete(f"{path} is left as it is")
        labels = ",".join(request.labels)
        return RegistrationRequest(
            instance=request.instance or answer("URL of the Gitea or Forgejo instance: ").strip(),
            token=request.token or answer("Registration token: ").strip(),
            name=answer(f"Name of this runner [{request.name}]: ").strip() or request.name,
            labels=split_labels(answer(f"Labels, separated by commas [{labels}]: ")) or request.labels,
            ephemeral=request.ephemeral,
        )
    except EOFError as error:
        raise Incomplete("nobody answers; give everything as flags with --no-interactive") from error
