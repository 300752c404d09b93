"""Exact percentiles."""

from mockgitea.lab.distribution import Distribution


def test_percentiles_are_values_that_occurred() -> None:
    summary = Distribution(range(1_000_000, 101_000_000, 1_000_000)).summary()
    assert summary == {"count": 100, "mean_s": 50.5, "p50_s": 50.0, "p95_s": 95.0, "p99_s": 99.0, "max_s": 100.0}


def test_one_value_is_every_percentile() -> None:
    summary = Distribution([250_000]).summary()
    assert set(summary.values()) == {1, 0.25}


def test_no_value_has_no_percentile() -> None:
    assert Distribution().summary() == dict.fromkeys(("mean_s", "p50_s", "p95_s", "p99_s", "max_s")) | {"count": 0}
