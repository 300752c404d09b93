"""Parse runner labels (`name[:scheme[:argument]]`) and match them against a job's `runs-on`.

Source: docs/protocol.md, "Labels".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Label:
    """One label as a runner is configured with it; only ``name`` travels to the server."""

    name: str
    scheme: str = "host"
    argument: str = ""

    @property
    def text(self) -> str:
        """The label as written in a `.runner` file."""
        return ":".join(part for part in (self.name, self.scheme, self.argument) if part)


def parse_label(text: str) -> Label | None:
    """Split ``text`` at its first two colons, the way Gitea's runner does.

    Returns:
        None for an empty label; an opaque host label when the scheme is neither ``host`` nor ``docker``.
    """
    if not text:
        return None
    name, _, rest = text.partition(":")
    scheme, _, argument = rest.partition(":")
    if not scheme:
        return Label(name=name)
    if scheme not in ("host", "docker"):
        return Label(name=text)
    return Label(name=name, scheme=scheme, argument="" if scheme == "host" else argument)


def covers(labels: Iterable[str], runs_on: Sequence[str], *, empty_matches: bool) -> bool:
    """Tell whether a runner with these label names may take a job.

    Args:
        labels: plain names, compared case-sensitively.
        runs_on: the job's wanted names; every one must be present.
        empty_matches: what an empty ``runs_on`` means (Gitea: any runner; newer Forgejo: none).
    """
    if not runs_on:
        return empty_matches
    have = frozenset(labels)
    return all(name in have for name in runs_on)
