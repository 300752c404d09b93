"""The server's log inside somebody else's process: into `logging`, where test runners collect it, never to stdout.

A process that has configured structlog itself gets our events its own way. Otherwise structlog is pointed at `logging`
while at least one server runs, and put back afterwards.
"""

import logging
import threading
from typing import Any

import structlog

from mockgitea.observe.logs import mask_secrets

_lock = threading.Lock()
_servers = 0
_ours: dict[str, Any] = {}


def begin() -> None:
    """Route events to `logging` from now on, unless the process has its own configuration."""
    global _servers  # noqa: PLW0603 - structlog's configuration is global, so its users are counted globally
    with _lock:
        _servers += 1
        if _servers > 1 or structlog.is_configured():
            return
        structlog.configure(
            processors=[structlog.processors.add_log_level, mask_secrets, structlog.stdlib.render_to_log_kwargs],
            wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
            logger_factory=structlog.stdlib.LoggerFactory(),
            cache_logger_on_first_use=False,
        )
        _ours.update(structlog.get_config())


def end() -> None:
    """Undo `begin` when the last server is gone and nobody has configured structlog since."""
    global _servers  # noqa: PLW0603 - see `begin`
    with _lock:
        _servers -= 1
        if _servers == 0 and _ours:
            if structlog.get_config() == _ours:
                structlog.reset_defaults()
            _ours.clear()
