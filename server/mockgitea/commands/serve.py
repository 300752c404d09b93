"""`mockgitea serve`: run the server until a signal, or until a part of it fails."""

import argparse
import asyncio
import contextlib
import gc
import json
import os
import signal
import sys
from pathlib import Path
from typing import Final

import structlog
import uvloop

from mockgitea import __version__
from mockgitea.app import App
from mockgitea.observe import logs
from mockgitea.settings import SettingError, Settings, Spec, env_name, flag_name, masked, table
from mockgitea.settings_sources import CONFIG_ENV, effective

log = structlog.get_logger(__name__)

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
GC_YOUNG_OBJECTS: Final = 20_000
"""Allocations between two young collections; the default of 700 costs a poll more than its authentication."""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the subcommand with one flag for each setting."""
    parser = subparsers.add_parser(
        "serve",
        help="start the server",
        description="Start the server. Flags win over MOCKGITEA_* variables, those over the config file.",
    )
    parser.add_argument("--config", default="", metavar="FILE", help=f"TOML or YAML file with settings [{CONFIG_ENV}]")
    parser.add_argument(
        "--print-config", action="store_true", help="show the settings in force as JSON, secrets masked, and exit"
    )
    for name, (field, spec) in table().items():
        parser.add_argument(
            flag_name(name), dest=f"setting_{name}", default=argparse.SUPPRESS, metavar=_metavar(spec),
            help=_help(name, field.default, spec),
        )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Run the server; 0 after a signal, 1 when a part failed, 2 for wrong settings."""
    flags = {key.removeprefix("setting_"): value for key, value in vars(options).items() if key.startswith("setting_")}
    try:
        settings = effective(flags, options.environ, options.config)
    except SettingError as error:
        return _refuse(error)
    if options.print_config:
        print(json.dumps(masked(settings), indent=2))
        return 0
    logs.configure(settings.log_format, settings.log_level)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_serve(settings))


async def _serve(settings: Settings) -> int:
    try:
        app = App.build(settings)
        await app.start()
    except ValueError as error:
        return _refuse(error)
    loop = asyncio.get_running_loop()
    for number in _STOP_SIGNALS:
        loop.add_signal_handler(number, app.stopping.set)
    ready_file = Path(settings.ready_file) if settings.ready_file else None
    try:
        facts = await _ready_facts(app)
        if ready_file is not None:
            try:
                _write_ready_file(ready_file, facts)
            except (OSError, ValueError) as error:  # a path without a name is a ValueError
                return _refuse(ValueError(f"ready_file: cannot write {ready_file} ({error}); choose another"))
        _announce(app)
        _spare_the_collector()
        await app.stopping.wait()
        log.info("server_stopping")
    finally:
        await app.close()
        if ready_file is not None:
            with contextlib.suppress(OSError):
                ready_file.unlink(missing_ok=True)
        _ignore_signals(loop)
    if app.failure is not None:
        log.error("server_failed", exc_info=app.failure)
        return EXIT_FAILED
    return 0


def _ignore_signals(loop: asyncio.AbstractEventLoop) -> None:
    # Everything is closed and the process only ends; a late signal must not make its exit code that of a crash.
    for number in _STOP_SIGNALS:
        loop.remove_signal_handler(number)
        signal.signal(number, signal.SIG_IGN)


async def _ready_facts(app: App) -> dict[str, object]:
    return {
        "runner_url": app.runner_url,
        "control_url": app.control_url,
        "grpc_address": app.grpc_address,
        "registration_token": await app.services.registration.registration_token(0, 0),
        "api_token": app.settings.api_token,
        "control_token": app.settings.control_token,
        "profile": app.settings.profile,
        "seed": app.settings.seed,
        "pid": os.getpid(),
    }


def _write_ready_file(path: Path, facts: dict[str, object]) -> None:
    # Written beside the target and renamed, so that whoever sees the file sees all of it.
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(facts, file, indent=2)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def _spare_the_collector() -> None:
    # What exists by now lives as long as the server; without this, the journal's steady turnover makes the garbage
    # collector walk all of it again and again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_YOUNG_OBJECTS)


def _announce(app: App) -> None:
    lines = [
        f"mockgitea {__version__}: a mock, not Gitea; profile {app.settings.profile}, seed {app.settings.seed}",
        f"  runner port   {app.runner_url}",
        f"  control port  {app.control_url}",
    ]
    if app.grpc_address:
        lines.append(f"  gRPC port     {app.grpc_address}")
    print("\n".join(lines), flush=True)


def _refuse(error: ValueError) -> int:
    print(f"mockgitea: error: {error}", file=sys.stderr)
    return EXIT_USAGE


def _metavar(spec: Spec) -> str:
    return "{" + ",".join(spec.choices) + "}" if spec.choices else spec.kind.name


def _help(name: str, default: object, spec: Spec) -> str:
    shown = ",".join(default) if isinstance(default, tuple) else default
    text = f"{spec.help} [{env_name(name)}"
    if shown not in ("", None):
        text += f"; default {shown:g}" if isinstance(shown, float) else f"; default {shown}"
    return (text + "]").replace("%", "%%")
