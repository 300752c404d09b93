"""The program's own log: structured events as JSON lines or for a console, on standard error. Never a secret."""

import logging
import sys
from typing import Any, Final

import orjson
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

MASK: Final = "***"
_SECRET_WORDS: Final = ("token", "secret", "password", "authorization")
_PUBLIC_KEYS: Final = frozenset({"tasks_version", "token_last_eight"})


def configure(log_format: str, level: str) -> None:
    """Send every event of this level and above to standard error.

    Args:
        log_format: ``json`` or ``console``.
        level: ``debug``, ``info``, ``warning`` or ``error``.
    """
    number = logging.getLevelNamesMapping()[level.upper()]
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        mask_secrets,
    ]
    if log_format == "json":
        last: list[Processor] = [structlog.processors.format_exc_info, _as_json_line]
    else:
        last = [
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback)
        ]
    structlog.configure(
        processors=[*shared, *last],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(handlers=[_FromLibraries()], level=max(number, logging.WARNING), force=True)


def mask_secrets(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Replace the value of every field whose name says that it is secret."""
    for key, value in event.items():
        if value and key not in _PUBLIC_KEYS and any(word in key.lower() for word in _SECRET_WORDS):
            event[key] = MASK
    return event


def _as_json_line(_: WrappedLogger, __: str, event: EventDict) -> str:
    return orjson.dumps(event, default=repr).decode("utf-8", "replace")


class _FromLibraries(logging.Handler):
    """Brings what libraries log through `logging` into the same stream and form."""

    def emit(self, record: logging.LogRecord) -> None:
        fields: dict[str, Any] = {"library": record.name, "text": record.getMessage()}
        if record.exc_info:
            fields["exc_info"] = record.exc_info
        structlog.get_logger(record.name).log(record.levelno, "library_message", **fields)
