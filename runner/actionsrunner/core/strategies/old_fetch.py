"""What fetches of older runners have in common: no name for an attempt, and one tasks_version for several in flight."""

from typing import Final

NO_KEY: Final = ""
"""These runners do not name their attempts: the task in an answer that got lost is lost."""


def swap_version(stored: int, *, sent: int, answered: int, got_task: bool) -> int:
    """Return the version to send next.

    An answer counts only if no other one has come since its fetch was sent. After a task the next fetch must look
    into the queue whatever the version, so it sends 0, unless the version has moved on meanwhile.

    Args:
        stored: what the next fetch would send now.
        sent: what this fetch was sent with.
        answered: what the server said.
        got_task: a task came with it.

    Source: docs/protocol.md, "tasks_version".
    """
    if answered > sent and stored == sent:
        stored = answered
    return 0 if got_task and stored == answered else stored
