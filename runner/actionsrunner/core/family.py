"""Which family of servers we talk to: told by the configuration, or found out from what the server says.

Only signs that a real server of one family gives and the other never does are used: Gitea from 1.27 announces its
capabilities in a response header of Declare; Forgejo tells in Declare that a runner is ephemeral, hands out several
tasks at once, and puts its name on a task's secrets and context. A task without that name is Gitea's. The dialect of
errors is no sign, since a proxy or an older release can look like either.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

_FORGEJO_NAMES: Final = ("FORGEJO_", "forgejo_")


class Family(StrEnum):
    """The two families of servers; a runner behaves as Gitea's until it knows better."""

    GITEA = "gitea"
    FORGEJO = "forgejo"


class FamilyFinder:
    """Remembers the family once it is known."""

    def __init__(self, configured: Family | None = None) -> None:
        self._known = configured

    @property
    def known(self) -> Family | None:
        """The family, or None while nothing has told it."""
        return self._known

    @property
    def assumed(self) -> Family:
        """The family to behave for."""
        return self._known or Family.GITEA

    def declared(self, *, announces_capabilities: bool, ephemeral: bool) -> None:
        """Learn from the answer to Declare."""
        if announces_capabilities:
            self._learn(Family.GITEA)
        elif ephemeral:
            self._learn(Family.FORGEJO)

    def fetched(self, *, names: Iterable[str], several: bool) -> None:
        """Learn from a task: the names of its secrets and context fields, and whether it did not come alone."""
        forgejo = several or any(name.startswith(_FORGEJO_NAMES) for name in names)
        self._learn(Family.FORGEJO if forgejo else Family.GITEA)

    def _learn(self, family: Family) -> None:
        self._known = self._known or family
