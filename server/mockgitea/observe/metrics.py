"""Every metric's name, kind, labels and help, and the page that shows them.

Values are read from the server's own aggregates when somebody scrapes, so a call costs nothing here. Labels come from
closed vocabularies only: never a runner, task or repository.
Source: docs/metrics.md.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from mockgitea.core.counters import DURATION_BOUNDS_S, Counters
from mockgitea.core.journal import Journal

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Sample = tuple[tuple[str, ...], float]


@dataclass(frozen=True, slots=True)
class Spec:
    """One metric. ``kind`` is counter, gauge or histogram."""

    name: str
    kind: str
    help: str
    labels: tuple[str, ...] = ()


_SPECS: Final = (
    Spec("mockgitea_requests_total", "counter", "calls by method and outcome", ("method", "outcome")),
    Spec("mockgitea_request_duration_seconds", "histogram", "time from arrival to answer, in seconds", ("method",)),
    Spec("mockgitea_requests_in_progress", "gauge", "calls that wait for their answer"),
    Spec("mockgitea_journal_entries", "gauge", "calls the journal keeps"),
    Spec("mockgitea_journal_bytes", "gauge", "bytes of bodies the journal keeps"),
    Spec("mockgitea_journal_evictions_total", "counter", "calls that fell out of the journal"),
    Spec("mockgitea_faults", "gauge", "fault rules in force"),
    Spec("mockgitea_runners", "gauge", "registered runners by status", ("status",)),
    Spec("mockgitea_tasks", "gauge", "tasks by status", ("status",)),
    Spec("mockgitea_jobs", "gauge", "jobs by status", ("status",)),
    Spec("mockgitea_queue_jobs", "gauge", "waiting jobs that no runner has taken"),
    Spec("mockgitea_queue_oldest_seconds", "gauge", "how long the oldest waiting job has waited, in seconds"),
    Spec("mockgitea_store_mailbox", "gauge", "calls waiting for the database writer when it last finished a batch"),
    Spec("mockgitea_store_batches_total", "counter", "transactions the writer finished"),
    Spec("mockgitea_store_calls_total", "counter", "calls that those transactions held"),
    Spec("mockgitea_store_batch_max", "gauge", "most calls in one transaction so far"),
    Spec("mockgitea_log_mailbox_rows", "gauge", "log rows received and not yet stored"),
    Spec("mockgitea_build_info", "gauge", "always 1; says what runs", ("version", "profile")),
)
METRICS: Final[Mapping[str, Spec]] = {spec.name: spec for spec in _SPECS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What only the services know at the moment of a scrape, by metric name."""

    samples: Mapping[str, tuple[Sample, ...]]


class MetricsPage:
    """Renders the metrics of one server.

    Args:
        counters: totals of calls.
        journal: the bounded record of calls.
    """

    def __init__(self, counters: Counters, journal: Journal) -> None:
        self._counters = counters
        self._journal = journal
        self._process = CollectorRegistry()
        ProcessCollector(namespace="mockgitea", registry=self._process)

    def render(self, snapshot: Snapshot) -> bytes:
        """Return the page in the Prometheus text format."""
        registry = CollectorRegistry()
        registry.register(_Ready([*self._own(), *_families(snapshot.samples)]))
        return generate_latest(registry) + generate_latest(self._process)

    def _own(self) -> Iterator[Metric]:
        spec = METRICS["mockgitea_requests_total"]
        calls = CounterMetricFamily(spec.name, spec.help, labels=spec.labels)
        for (method, outcome), number in sorted(self._counters.calls.items()):
            calls.add_metric([method.value, outcome.value], number)
        yield calls
        spec = METRICS["mockgitea_request_duration_seconds"]
        durations = HistogramMetricFamily(spec.name, spec.help, labels=spec.labels)
        for method, seen in sorted(self._counters.durations.items()):
            durations.add_metric([method.value], buckets=_cumulative(seen.buckets), sum_value=seen.sum_s)
        yield durations
        journal = self._journal
        yield from _families(
            {
                "mockgitea_requests_in_progress": (((), journal.in_progress),),
                "mockgitea_journal_entries": (((), len(journal)),),
                "mockgitea_journal_bytes": (((), journal.bytes_kept),),
                "mockgitea_journal_evictions_total": (((), journal.evicted_total),),
            }
        )


class _Ready(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _families(samples: Mapping[str, tuple[Sample, ...]]) -> Iterator[Metric]:
    for name, values in samples.items():
        spec = METRICS[name]
        family: CounterMetricFamily | GaugeMetricFamily
        if spec.kind == "counter":
            family = CounterMetricFamily(spec.name, spec.help, labels=spec.labels)
        else:
            family = GaugeMetricFamily(spec.name, spec.help, labels=spec.labels)
        for labels, value in values:
            family.add_metric(labels, value)
        yield family


def _cumulative(buckets: list[int]) -> list[tuple[str, float]]:
    total = 0
    shown: list[tuple[str, float]] = []
    for bound, number in zip([*map(str, DURATION_BOUNDS_S), "+Inf"], buckets, strict=True):
        total += number
        shown.append((bound, total))
    return shown
