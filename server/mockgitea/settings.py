"""Every setting of the server, once: name, default, unit, limits and help.

The fields of `Settings` are the table that feeds flags, `MOCKGITEA_*` variables, the config file, `--help`,
`--print-config` and docs/settings.md. This module knows no file and no environment; `settings_sources` reads those.
"""

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from enum import StrEnum
from typing import Any, Final, TypeVar

from mockgitea.core.profiles import DEFAULT_PROFILE, PROFILES

T = TypeVar("T")

ENV_PREFIX: Final = "MOCKGITEA_"
MASK: Final = "***"


class Kind(StrEnum):
    """How a value is written and checked."""

    TEXT = "text"
    NUMBER = "number"
    SECONDS = "seconds"
    BYTES = "bytes"
    NAMES = "comma-separated names"


@dataclass(frozen=True, slots=True)
class Spec:
    """What the table says about one setting besides its name, type and default."""

    kind: Kind
    help: str
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    is_secret: bool = False
    is_optional: bool = False
    """True when the setting may be absent (None)."""


def _setting(default: T, kind: Kind, text: str, **limits: Any) -> T:
    return field(default=default, metadata={"spec": Spec(kind, text, **limits)})


_KIB: Final = 1024
_MIB: Final = 1024 * _KIB
_PORT: Final[Mapping[str, int]] = {"minimum": 0, "maximum": 65535}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The effective settings; build it with keyword arguments in tests, through `settings_sources` elsewhere."""

    # --- where it listens
    host: str = _setting("127.0.0.1", Kind.TEXT, "address of the runner port; loopback unless told otherwise")
    port: int = _setting(3000, Kind.NUMBER, "runner port: RPC, REST v1 and the page; 0 takes a free one", **_PORT)
    control_host: str = _setting("", Kind.TEXT, "address of the control port; empty means the same as `host`")
    control_port: int = _setting(
        3001, Kind.NUMBER, "control port: control API, health, metrics, our page; 0 takes a free one", **_PORT
    )
    grpc_port: int | None = _setting(
        None,
        Kind.NUMBER,
        "gRPC port for the same runner service; absent means off, 0 takes a free one",
        is_optional=True,
        **_PORT,
    )
    app_url: str = _setting(
        "", Kind.TEXT, "URL under which runners and jobs reach the server; empty means the runner port's own address"
    )
    tls_cert: str = _setting("", Kind.TEXT, "PEM file with the certificate chain of the runner port; needs `tls_key`")
    tls_key: str = _setting("", Kind.TEXT, "PEM file with the private key that belongs to `tls_cert`")
    keep_alive_s: float = _setting(
        120.0,
        Kind.SECONDS,
        "how long an idle connection stays open; real servers keep about two minutes",
        minimum=1,
        maximum=86400,
    )
    graceful_stop_s: float = _setting(
        5.0, Kind.SECONDS, "how long a stopping server waits for calls in progress", minimum=0, maximum=600
    )
    ready_file: str = _setting(
        "", Kind.TEXT, "file (mode 0600) written once everything answers: URLs, tokens, profile, seed, pid as JSON"
    )

    # --- what it imitates
    profile: str = _setting(DEFAULT_PROFILE, Kind.TEXT, "server release to imitate", choices=tuple(PROFILES))
    clock: str = _setting(
        "system",
        Kind.TEXT,
        "time: the machine's, the machine's plus jumps, or standing still until moved",
        choices=("system", "offset", "manual"),
    )
    seed: int | None = _setting(
        None, Kind.NUMBER, "seed of everything random; absent draws one, which is printed", is_optional=True
    )
    repositories: tuple[str, ...] = _setting(
        ("demo/demo",), Kind.NAMES, "repositories (`owner/name`) that exist from the start"
    )
    max_concurrent_task_picks: int = _setting(
        16,
        Kind.NUMBER,
        "look-ups in the queue at once, where the profile throttles them; 0 throttles every one",
        minimum=0,
        maximum=100_000,
    )
    zombie_timeout_s: float = _setting(
        600.0, Kind.SECONDS, "a running task without updates for this long is failed", minimum=1, maximum=31_622_400
    )
    endless_timeout_s: float = _setting(
        10_800.0, Kind.SECONDS, "a task running for this long is failed", minimum=1, maximum=31_622_400
    )
    abandoned_timeout_s: float = _setting(
        86_400.0, Kind.SECONDS, "a job waiting for this long is cancelled", minimum=1, maximum=31_622_400
    )

    # --- who may do what
    registration_token: str = _setting(
        "", Kind.TEXT, "global registration token that is valid from the start; empty draws one", is_secret=True
    )
    api_token: str = _setting("", Kind.TEXT, "token of the REST v1 interface; empty draws one", is_secret=True)
    control_token: str = _setting(
        "", Kind.TEXT, "token the control API asks for; empty means it asks for none", is_secret=True
    )

    # --- what it remembers
    database: str = _setting(
        ":memory:", Kind.TEXT, "SQLite file, or `:memory:` for a server that forgets everything when it stops"
    )
    store_mailbox: int = _setting(
        10_000, Kind.NUMBER, "writes that may wait for the database before callers wait", minimum=1, maximum=1_000_000
    )
    store_wait_s: float = _setting(
        10.0,
        Kind.SECONDS,
        "how long a caller waits for a full database mailbox before it is refused",
        minimum=0,
        maximum=600,
    )
    log_mailbox_rows: int = _setting(
        50_000,
        Kind.NUMBER,
        "log rows per shard that may wait to be stored before UpdateLog waits",
        minimum=1,
        maximum=10_000_000,
    )
    log_wait_s: float = _setting(
        10.0, Kind.SECONDS, "how long UpdateLog waits for a full mailbox before it is refused", minimum=0, maximum=600
    )
    journal_entries: int = _setting(
        10_000,
        Kind.NUMBER,
        "calls the journal keeps; older ones are evicted, counters stay",
        minimum=0,
        maximum=10_000_000,
    )
    journal_bytes: int = _setting(
        32 * _MIB, Kind.BYTES, "bytes of request and response bodies the journal keeps", minimum=0, maximum=1 << 40
    )

    # --- what it accepts
    body_bytes_max: int = _setting(
        32 * _MIB, Kind.BYTES, "largest request body, also after decompression", minimum=_KIB, maximum=1 << 31
    )
    body_read_s: float = _setting(
        60.0, Kind.SECONDS, "how long a request body may take to arrive", minimum=0.1, maximum=3600
    )

    # --- what it says about itself
    log_format: str = _setting("console", Kind.TEXT, "form of the program's log", choices=("console", "json"))
    log_level: str = _setting(
        "info", Kind.TEXT, "least severity that is logged", choices=("debug", "info", "warning", "error")
    )


class SettingError(ValueError):
    """A setting is wrong, unknown or contradicts another; the text names it and says what to do."""


def table() -> dict[str, tuple[Field[Any], Spec]]:
    """Return every setting by name, in the order of the documentation."""
    return {one.name: (one, one.metadata["spec"]) for one in fields(Settings)}


def flag_name(name: str) -> str:
    """Return the command-line flag of a setting."""
    return "--" + name.replace("_", "-")


def env_name(name: str) -> str:
    """Return the environment variable of a setting."""
    return ENV_PREFIX + name.upper()


def masked(settings: Settings) -> dict[str, Any]:
    """Return the effective values with secrets replaced, fit for printing."""
    shown: dict[str, Any] = {}
    for name, (_, spec) in table().items():
        value = getattr(settings, name)
        shown[name] = MASK if spec.is_secret and value else list(value) if isinstance(value, tuple) else value
    return shown
