"""A recorded session: journal entries with the facts one needs to judge them later, as a JSON-lines file and back.

Entries are in their shown form, so tokens and secrets were masked before they got here.
Source: docs/testing.md, "Exports".
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mockgitea.core.audit import AuditFacts
from mockgitea.core.call_checks import CallChecks
from mockgitea.core.call_record import CallRecord, introduced

FORMAT: Final = 1
FORMAT_KEY: Final = "mockgitea_journal"
LINE_CHARS_MAX: Final = 16 * 1024 * 1024
ENTRIES_MAX: Final = 10_000_000


class SessionError(ValueError):
    """A file is no recorded session; the text names the line and what is wrong."""


@dataclass(frozen=True, slots=True)
class KnownRunner:
    """A runner as its server knew it when the session was exported."""

    name: str
    labels: tuple[str, ...] = ()
    is_ephemeral: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Recorded calls and what is known about their server.

    Args:
        views: journal entries as the control API shows them, in the order in which the calls began.
        runners: by UUID, those that still existed.
        evicted: calls that the journal no longer had.
        profile: name of the server's profile.
        seed: the server's seed.
    """

    views: Sequence[Mapping[str, Any]]
    runners: Mapping[str, KnownRunner] = field(default_factory=dict)
    evicted: int = 0
    profile: str = ""
    seed: int = 0

    def records(self) -> list[CallRecord]:
        """Return the calls with typed fields; runners that were deleted since they registered have their names too."""
        names = {uuid: runner.name for uuid, runner in self.runners.items()}
        found = []
        for view in self.views:
            found.append(CallRecord.from_view(view, names))
            uuid, name = introduced(found[-1])
            if uuid:
                names.setdefault(uuid, name)
        return found

    def checks(self) -> CallChecks:
        """Return the expectations over these calls."""
        return CallChecks(self.records(), evicted=self.evicted)

    def facts(self, **told: Any) -> AuditFacts:
        """Return what an audit needs besides the calls; ``told`` is what only the auditor knows."""
        ephemeral = frozenset(uuid for uuid, runner in self.runners.items() if runner.is_ephemeral)
        return AuditFacts(evicted=self.evicted, ephemeral=ephemeral, **told)

    def lines(self) -> Iterator[str]:
        """Return the file's lines: first the facts, then one entry each."""
        head = {
            FORMAT_KEY: FORMAT,
            "profile": self.profile,
            "seed": self.seed,
            "runners": [
                {"uuid": uuid, "name": runner.name, "labels": list(runner.labels), "is_ephemeral": runner.is_ephemeral}
                for uuid, runner in self.runners.items()
            ],
            "evicted_total": self.evicted,
        }
        for content in (head, *self.views):
            yield json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"

    @classmethod
    def from_lines(cls, lines: Iterable[str]) -> "Session":
        """Read what `lines` wrote.

        Raises:
            SessionError: it is no such file, or a line of it is broken.
        """
        head: dict[str, Any] | None = None
        views: list[Mapping[str, Any]] = []
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            content = _parsed(number, line)
            if head is None:
                head = _checked_head(content)
            elif len(views) == ENTRIES_MAX:
                raise SessionError(f"line {number}: more than {ENTRIES_MAX} entries; split the file")
            else:
                _check_entry(number, content)
                views.append(content)
        if head is None:
            raise SessionError("the file is empty; write one with `mockgitea journal --format jsonl`")
        return cls(
            views=views,
            runners=dict(map(_known_runner, head.get("runners", ()))),
            evicted=int(head.get("evicted_total", 0)),
            profile=str(head.get("profile", "")),
            seed=int(head.get("seed", 0)),
        )


def _parsed(number: int, line: str) -> dict[str, Any]:
    if len(line) > LINE_CHARS_MAX:
        raise SessionError(f"line {number}: longer than {LINE_CHARS_MAX} characters; this is no exported journal")
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SessionError(f"line {number}: no JSON ({error}); export the journal again") from error
    if not isinstance(content, dict):
        raise SessionError(f"line {number}: no JSON object; export the journal again")
    return content


def _checked_head(content: dict[str, Any]) -> dict[str, Any]:
    version = content.get(FORMAT_KEY)
    if version is None:
        raise SessionError(f"line 1: {FORMAT_KEY} is missing; write the file with `mockgitea journal --format jsonl`")
    if version != FORMAT:
        raise SessionError(f"line 1: {FORMAT_KEY} is {version!r}, this mockgitea reads {FORMAT}")
    if not all(isinstance(content.get(name, 0), int) for name in ("evicted_total", "seed")):
        raise SessionError("line 1: evicted_total and seed must be numbers; export the journal again")
    return content


def _known_runner(content: Any) -> tuple[str, KnownRunner]:
    try:
        labels = tuple(str(label) for label in content["labels"])
        return str(content["uuid"]), KnownRunner(str(content["name"]), labels, is_ephemeral=content["is_ephemeral"])
    except (TypeError, KeyError) as error:
        raise SessionError("line 1: runners: each has uuid, name, labels and is_ephemeral; export again") from error


def _check_entry(number: int, content: dict[str, Any]) -> None:
    try:
        CallRecord.from_view(content, {})
    except ValueError as error:
        raise SessionError(f"line {number}: {error}") from error
