"""`actionsrunner daemon`: find or make the registration, then run until told to leave."""

import argparse
import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import structlog

from actionsrunner.app import CannotStart, RunnerSetup, run_daemon, workdir_parent
from actionsrunner.commands.register import (
    Incomplete,
    check_request,
    config_path,
    register_to,
    registration_path,
    split_labels,
    unattended_request,
)
from actionsrunner.config import Config, ConfigInvalid, load_config
from actionsrunner.edge.instance_lock import AlreadyRunning, InstanceLock
from actionsrunner.edge.registration import (
    Registration,
    RegistrationUnusable,
    read_registration,
    write_registration,
)
from actionsrunner.engine.leftovers import clear_leftovers
from actionsrunner.environment import Environment, read_environment
from actionsrunner.exits import Exit
from actionsrunner.logs import set_up_logs
from actionsrunner.loops.registering import RegistrationRefused
from actionsrunner.loops.shutdown import ShutdownRequests, ignore_signals, on_signals
from actionswire.labels import parse_label

log = structlog.get_logger(__name__)


def run(args: argparse.Namespace) -> int:
    """Run the daemon; return the exit status."""
    try:
        environment = read_environment()
        config = load_config(config_path(args.config, environment))
        set_up_logs(level=config.text("log.level"), form=config.text("log.format"))
        for warning in config.warnings:
            log.warning("config", detail=warning)
        path = registration_path(config, environment)
        with InstanceLock(path):
            registration = _find_registration(path, config, environment)
            labels = _choose_labels(split_labels(args.labels) or split_labels(environment.labels), config, registration)
            if labels != registration.labels:
                registration = replace(registration, labels=labels)
                write_registration(path, registration)
            _warn_about(labels)
            setup = RunnerSetup(
                config=config,
                registration=registration,
                labels=labels,
                once=args.once or environment.once,
                hidden=environment.proxy_passwords,
            )
            return _run(setup, path)
    except AlreadyRunning as error:
        return _fail(error, Exit.ALREADY_RUNNING)
    except (ConfigInvalid, Incomplete, RegistrationRefused, RegistrationUnusable, ValueError, OSError) as error:
        return _fail(error, Exit.FAILED)


def _run(setup: RunnerSetup, path: Path) -> Exit:
    try:
        status = asyncio.run(_serve(setup))
    except CannotStart as error:
        status = _fail(error, error.status)
    if status is Exit.UNREGISTERED:
        sys.stderr.write(f"actionsrunner: what {path.absolute()} says is no longer valid; delete it to register anew\n")
    return status


async def _serve(setup: RunnerSetup) -> Exit:
    requests = ShutdownRequests()
    try:
        with on_signals(requests):
            await clear_leftovers(workdir_parent(setup.config))
            return await run_daemon(setup, requests)
    finally:
        ignore_signals()


def _find_registration(path: Path, config: Config, environment: Environment) -> Registration:
    try:
        return read_registration(path)
    except FileNotFoundError as error:
        if not environment.instance:
            raise Incomplete(
                f"{path} is missing: run `actionsrunner register`, or set GITEA_INSTANCE_URL and "
                "GITEA_RUNNER_REGISTRATION_TOKEN to register on start"
            ) from error
    request = unattended_request(config, environment)
    check_request(request)
    registration = register_to(path, config, request, attempts=environment.attempts)
    log.info("registered", name=registration.name, instance=registration.address)
    return registration


def _choose_labels(given: tuple[str, ...], config: Config, registration: Registration) -> tuple[str, ...]:
    """Return the labels that hold: of the flag or variable, else of the configuration, else of the file."""
    return given or config.texts("runner.labels") or registration.labels


def _warn_about(labels: tuple[str, ...]) -> None:
    for text in labels:
        label = parse_label(text)
        if label is not None and label.scheme == "docker":
            log.warning("label_needs_container", label=text, detail="jobs that ask for it will fail here")


def _fail(error: Exception, status: Exit) -> Exit:
    sys.stderr.write(f"actionsrunner: {error}\n")
    return status
