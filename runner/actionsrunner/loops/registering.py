"""Becoming known to a server: wait until it answers, register, and turn the answer into a `.runner` file's content."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog

from actionsrunner.core.family import Family
from actionsrunner.edge.client import RunnerClient
from actionsrunner.edge.clock import Clock
from actionsrunner.edge.connect import RpcError
from actionsrunner.edge.registration import Registration
from actionswire.codes import Code
from actionswire.headers import CANCELLING
from actionswire.labels import parse_label

CAPABILITIES: Final = (CANCELLING,)
"""What this runner supports: after a cancel it runs post steps before it reports."""
PING_INTERVAL_US: Final = 1_000_000
ATTEMPT_INTERVAL_US: Final = 5_000_000
"""Wait between attempts to register of a container that starts unattended."""
_WARN_EVERY: Final = 30

log = structlog.get_logger(__name__)


class RegistrationRefused(Exception):
    """The server did not register the runner; the text is its reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationRequest:
    """What a person wants to register; ``labels`` are full, with scheme."""

    instance: str
    token: str = field(repr=False)
    name: str
    labels: Sequence[str]
    ephemeral: bool = False


def label_names(labels: Sequence[str]) -> list[str]:
    """Return what the server is told of ``labels``: their names, each once."""
    parsed = (parse_label(text) for text in labels)
    return list(dict.fromkeys(label.name for label in parsed if label is not None))


async def register(
    client: RunnerClient, clock: Clock, request: RegistrationRequest, *, attempts: int = 1
) -> Registration:
    """Register once the server answers; Ping is repeated every second for as long as it takes.

    Args:
        client: without identity.
        clock: for the waits.
        request: what to register.
        attempts: how often Register is called, 5 s apart, before giving up.

    Raises:
        RegistrationRefused: the last attempt failed, the answer makes no sense, or a Forgejo server would not make the
            runner ephemeral.
    """
    await _wait_for_server(client, clock, request.name)
    for attempt in range(1, attempts + 1):
        try:
            return await _register_once(client, request)
        except RpcError as error:
            if attempt == attempts:
                raise RegistrationRefused(f"{request.instance} answered {error.code}: {error.message}") from error
            log.warning("registration_failed", attempt=attempt, code=error.code, error=error.message)
        await clock.sleep_until(clock.now_us() + ATTEMPT_INTERVAL_US)
    raise AssertionError("the last attempt returns or raises")


async def _wait_for_server(client: RunnerClient, clock: Clock, name: str) -> None:
    tries = 0
    while True:
        try:
            await client.ping(name)
        except RpcError as error:
            if tries % _WARN_EVERY == 0:
                hint = ""
                if error.code is Code.UNIMPLEMENTED:
                    hint = "is this the base URL of a server with Actions enabled?"
                log.warning("server_not_ready", code=error.code, error=error.message, hint=hint)
        else:
            return
        tries += 1
        await clock.sleep_until(clock.now_us() + PING_INTERVAL_US)


async def _register_once(client: RunnerClient, request: RegistrationRequest) -> Registration:
    registered = await client.register(
        name=request.name,
        token=request.token,
        labels=label_names(request.labels),
        capabilities=CAPABILITIES,
        ephemeral=request.ephemeral,
    )
    if not registered.uuid or not registered.token:
        raise RegistrationRefused(f"{request.instance} answered without a uuid and a token; is it an Actions server?")
    if request.ephemeral and not registered.ephemeral:
        if client.family is Family.FORGEJO:
            raise RegistrationRefused("the server does not support ephemeral runners; register without --ephemeral")
        log.error("not_ephemeral", detail="the server does not support it; the runner will leave after one task")
    return Registration(
        id=registered.id,
        uuid=registered.uuid,
        token=registered.token,
        name=registered.name or request.name,
        address=request.instance.rstrip("/"),
        labels=tuple(request.labels),
        ephemeral=request.ephemeral,
    )
