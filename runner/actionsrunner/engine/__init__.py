"""The job engine: executes one task on the host. A library with no network in it."""

from actionsrunner.engine.job import run_job
from actionsrunner.engine.options import EngineOptions

__all__ = ["EngineOptions", "run_job"]
