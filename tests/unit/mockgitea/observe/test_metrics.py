import re
from pathlib import Path

from mockgitea.core.calls import Method, Outcome
from mockgitea.core.counters import Counters
from mockgitea.core.journal import Journal
from mockgitea.observe.metrics import METRICS, MetricsPage, Snapshot

DOCS = Path(__file__).resolve().parents[4] / "docs" / "metrics.md"
ID_LABELS = {"runner", "runner_uuid", "task", "task_id", "run_id", "job_id", "repository", "owner", "path"}


def page_with_one_call() -> str:
    journal, counters = Journal(entries_max=5, bytes_max=100), Counters()
    entry = journal.open(0, 1.0)
    entry.method, entry.outcome, entry.runner_uuid = Method.FETCH_TASK, Outcome.EMPTY, "u-1"
    journal.close(entry, 1.003)
    counters.count(entry)
    samples = {"mockgitea_runners": ((("idle",), 2.0),), "mockgitea_store_batches_total": (((), 7.0),)}
    return MetricsPage(counters, journal).render(Snapshot(samples=samples)).decode()


def test_render_shows_calls_by_method_and_outcome() -> None:
    assert 'mockgitea_requests_total{method="FetchTask",outcome="empty"} 1.0' in page_with_one_call()


def test_render_accumulates_duration_buckets() -> None:
    page = page_with_one_call()
    assert 'mockgitea_request_duration_seconds_bucket{le="0.0025",method="FetchTask"} 0.0' in page
    assert 'mockgitea_request_duration_seconds_bucket{le="0.005",method="FetchTask"} 1.0' in page
    assert 'mockgitea_request_duration_seconds_bucket{le="+Inf",method="FetchTask"} 1.0' in page
    assert 'mockgitea_request_duration_seconds_count{method="FetchTask"} 1.0' in page


def test_render_shows_what_the_services_know() -> None:
    page = page_with_one_call()
    assert 'mockgitea_runners{status="idle"} 2.0' in page
    assert "mockgitea_store_batches_total 7.0" in page


def test_render_holds_no_id() -> None:
    assert "u-1" not in page_with_one_call()
    assert not [spec.name for spec in METRICS.values() if set(spec.labels) & ID_LABELS]


def test_names_follow_the_rules_of_units() -> None:
    for spec in METRICS.values():
        assert spec.name.startswith("mockgitea_")
        assert (spec.kind == "counter") == spec.name.endswith("_total")


def test_docs_list_exactly_the_metrics() -> None:
    rows = re.findall(r"^\| `(mockgitea_\w+)` \| (\w+) \| ([^|]*) \| ([^|]*) \|$", DOCS.read_text(), re.MULTILINE)
    expected = [
        (spec.name, spec.kind, ", ".join(f"`{label}`" for label in spec.labels) or "none", spec.help)
        for spec in METRICS.values()
    ]
    assert rows == expected


def test_docs_list_exactly_the_methods_and_outcomes() -> None:
    text = DOCS.read_text()
    methods = re.findall(r"^\| `([^`]+)` \|", text.partition("## Methods")[2].partition("\n## ")[0], re.MULTILINE)
    outcomes = re.findall(r"^\| `([^`]+)` \|", text.partition("## Outcomes")[2].partition("\n## ")[0], re.MULTILINE)
    assert methods == [method.value for method in Method]
    assert outcomes == [outcome.value for outcome in Outcome if outcome is not Outcome.OPEN]
