"""The scripted executor: plays a job shape into the runner's reporter instead of starting processes.

The shape is found by the task's workflow file. Everything else about a task (claim, reports, cancel) is production.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from actionsrunner.embedding import CancelSignal, Clock, JobOutcome, JobSink, TaskSpec
from actionswire.result import Result
from mockgitea.lab.shapes import JobShape
from mockgitea.supervise import Supervisor

FILE_SUFFIX: Final = ".yml"


class ScriptedExecutor:
    """Fulfils the runner's `Job`.

    Args:
        clock: virtual time, or that of the machine.
        shapes: by name.
        supervisor: owns the playing of each job.
    """

    def __init__(self, clock: Clock, shapes: Mapping[str, JobShape], supervisor: Supervisor) -> None:
        self._clock = clock
        self._shapes = shapes
        self._supervisor = supervisor

    async def run(self, task: TaskSpec, sink: JobSink, cancel: CancelSignal) -> JobOutcome:
        """Play the task's shape until it ends or is cancelled."""
        shape = self._shapes[str(task.context["workflow"]).removesuffix(FILE_SUFFIX)]
        play = self._supervisor.start(self._play(shape, sink), name=f"play-{task.id}")
        watch = self._supervisor.start(cancel.wait(), name=f"cancel-{task.id}")
        try:
            await asyncio.wait((play, watch), return_when=asyncio.FIRST_COMPLETED)
            if not play.done():
                return JobOutcome(Result.CANCELLED)
            play.result()
            return JobOutcome(Result.SUCCESS)
        finally:
            play.cancel()
            watch.cancel()

    async def _play(self, shape: JobShape, sink: JobSink) -> None:
        clock = self._clock
        start_us = clock.now_us()
        sink.steps_known(shape.steps)
        for step in range(shape.steps):
            sink.step_started(step)
            for at_us, rows in shape.pieces(step):
                await clock.sleep_until(start_us + at_us)
                for row in rows:
                    sink.log(row)
            await clock.sleep_until(start_us + (step + 1) * shape.step_us)
            sink.step_finished(step, Result.SUCCESS)
