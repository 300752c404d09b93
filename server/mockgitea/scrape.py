"""What only the running parts know at the moment of a scrape, gathered for the metrics page."""

from collections import Counter
from typing import TYPE_CHECKING

from actionswire.result import Status
from mockgitea import __version__
from mockgitea.clock import SECOND_US
from mockgitea.observe.metrics import Sample, Snapshot
from mockgitea.storage import metric_queries

if TYPE_CHECKING:
    from mockgitea.app import App

RUNNER_STATUSES = ("offline", "idle", "active")


async def scrape(app: "App") -> Snapshot:
    """Ask every part for its figures; the database is read once."""
    services = app.services
    now_us = services.clock.now_us()
    runners = Counter(record.status(now_us) for record in services.directory.all())
    counts = await services.store.read(metric_queries.counts)
    waited_us = max(0, now_us - counts.oldest_us) if counts.queued else 0
    store = services.store.figures()
    samples: dict[str, tuple[Sample, ...]] = {
        "mockgitea_faults": _one(len(app.faults.list())),
        "mockgitea_runners": tuple(((status,), runners[status]) for status in RUNNER_STATUSES),
        "mockgitea_tasks": _by_status(counts.tasks),
        "mockgitea_jobs": _by_status(counts.jobs),
        "mockgitea_queue_jobs": _one(counts.queued),
        "mockgitea_queue_oldest_seconds": _one(waited_us / SECOND_US),
        "mockgitea_store_mailbox": _one(store.waiting),
        "mockgitea_store_batches_total": _one(store.batches),
        "mockgitea_store_calls_total": _one(store.calls),
        "mockgitea_store_batch_max": _one(store.batch_max),
        "mockgitea_log_mailbox_rows": _one(services.logs.waiting_rows),
        "mockgitea_build_info": (((__version__, app.settings.profile), 1.0),),
    }
    return Snapshot(samples=samples)


def _one(value: float) -> tuple[Sample, ...]:
    return (((), value),)


def _by_status(numbers: dict[Status, int]) -> tuple[Sample, ...]:
    return tuple(((status.text,), numbers.get(status, 0)) for status in Status if status is not Status.UNKNOWN)
