"""What happens to the rows of a process: commands act, masks are passed on, the rest is logged.

Owns the way from a row to the sink; the commands' grammar and effects are in `commands`.
"""

from actionsrunner.core.seams import JobSink
from actionsrunner.engine.commands import CommandProcessor, StepEffects
from actionsrunner.engine.state import JobState


class StepOutput:
    """Takes the rows of one process in order."""

    def __init__(self, job: JobState, sink: JobSink, *, allow_unsecure: bool = False) -> None:
        self._job = job
        self._sink = sink
        self._commands = CommandProcessor(
            family=job.options.family, debug=job.debug, allow_unsecure=allow_unsecure, add_mask=self._add_mask
        )

    @property
    def effects(self) -> StepEffects:
        """What the commands asked for so far."""
        return self._commands.effects

    def take(self, row: str) -> None:
        """Act on one row and log it, unless it must not appear."""
        shown = self._commands.process(row)
        if shown is not None:
            self._sink.log(shown)

    def _add_mask(self, value: str) -> None:
        if value.strip():
            self._job.masker.add(value)
            self._sink.add_mask(value)
