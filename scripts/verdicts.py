"""How `make demo-faults` tells its story: what is done, what is expected, what was seen, and whether they agree.

Knows a console and nothing of servers; the exit code is the verdicts' own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rich.console import Console
from rich.text import Text


@dataclass(frozen=True)
class Verdict:
    """One thing that was expected, what was seen, and whether that is it."""

    expected: str
    seen: str
    is_met: bool


@dataclass
class Story:
    """Prints as it goes and remembers what did not go as narrated."""

    console: Console
    verdicts: list[Verdict] = field(default_factory=list)

    def chapter(self, title: str, *lines: str) -> None:
        """Print a heading and what is done under it."""
        self.console.print()
        self.console.print(Text(title, style="bold"), soft_wrap=True)
        for line in lines:
            self.say(line)

    def say(self, line: str) -> None:
        """Print one line."""
        self.console.print(Text(f"  {line}"), soft_wrap=True)

    def check(self, expected: str, seen: str, *, is_met: bool) -> None:
        """Print and remember one verdict."""
        self.verdicts.append(Verdict(expected, seen, is_met))
        mark = Text("  ok  ", style="green") if is_met else Text("  NO  ", style="bold red")
        self.console.print(mark.append(f"expected: {expected}; seen: {seen}", style="default"), soft_wrap=True)

    def end(self) -> int:
        """Print the sum and what failed; returns the exit code."""
        wrong = [verdict for verdict in self.verdicts if not verdict.is_met]
        self.console.print()
        if not self.verdicts:
            self.console.print(Text("nothing was checked", style="bold red"), soft_wrap=True)
            return 1
        for verdict in wrong:
            line = f"not as narrated: expected {verdict.expected}; seen: {verdict.seen}"
            self.console.print(Text(line, style="bold red"), soft_wrap=True)
        if not wrong:
            self.console.print(Text(f"all {len(self.verdicts)} as narrated", style="bold green"), soft_wrap=True)
        return 1 if wrong else 0
