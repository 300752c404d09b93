import pytest

from actionsrunner.strategies import select
from mockgitea.lab.closed_form import Band, Verdict, expected_rates, polls, reports, verdicts
from mockgitea.lab.scenario import Scenario
from mockgitea.lab.scenario_reader import parse, read_preset
from mockgitea.lab.shapes import built_in
from mockgitea.lab.strategies import StrategyChoice


def scenario(more: str = "", *, running: int = 3, shape: str = "mixed") -> Scenario:
    text = f"""
fleet: {{runners: 200, capacity: 4, running_tasks: {running}}}
workload: {{shape: {shape}}}
strategies: [{{name: current}}]
duration_s: 600
{more}
"""
    return parse(text, name="test")


@pytest.mark.parametrize(
    ("strategy", "running", "rate"),
    [
        ("fixed", 0, 100.0),
        ("fixed", 4, 0.0),
        ("fixed-claimed", 4, 100.0),
        ("single", 3, 200 / 60),
        ("single", 4, 0.0),
        ("per-worker", 1, 200 * 3 / 60),
        ("per-worker-claimed", 4, 200 * 4 / 60),
        ("current", 0, 40.0),
    ],
)
def test_polls_follow_interval_cap_and_free_slots(strategy: str, running: int, rate: float) -> None:
    assert polls(select(strategy), runners=200, capacity=4, running=running) == pytest.approx(rate)


def test_polls_of_a_cap_above_the_last_doubling_follow_the_doubling() -> None:
    selection = select("single", poll={"fetch_interval": "1s", "fetch_interval_max": "60s"})
    assert polls(selection, runners=32, capacity=1, running=0) == 1.0


@pytest.mark.parametrize(
    ("strategy", "shape", "log", "state"),
    [
        ("fixed", "silent", 1.0, 1.0),
        ("single", "chatty", 0.4, 0.2),
        ("single", "quiet-download", 1 / 30, 1 / 30),
        ("single", "silent", 0.0, 0.0),
        ("current", "silent", 0.0, 0.1),
        ("current", "chatty", 0.4, 0.2),
    ],
)
def test_reports_of_each_shape_begin_at_the_documented_rates(
    strategy: str, shape: str, log: float, state: float
) -> None:
    found = reports(select(strategy), built_in(shape))
    assert found is not None
    assert (found[0].low, found[1].low) == pytest.approx((log, state))


def test_the_headline_expects_thirteen_hundred_under_fixed_and_at_most_170_under_single() -> None:
    headline = read_preset("headline")
    fixed, single = (expected_rates(headline, StrategyChoice(name=name)) for name in ("fixed", "single"))
    assert fixed is not None
    assert single is not None
    assert fixed["total"] == Band(1300.0, 1300.0)
    assert single["total"].low == pytest.approx(3.33 + 153.3, rel=0.01)
    assert single["total"].middle <= 170


@pytest.mark.parametrize(
    "more",
    [
        "warm_up_s: 60",
        "link: {round_trip_s: 0.1}",
        "downtime: [{kind: refused, start_s: 200, duration_s: 9}]",
    ],
)
def test_there_is_no_closed_form_without_a_steady_state(more: str) -> None:
    assert expected_rates(scenario(more), StrategyChoice(name="current")) is None
    assert verdicts(scenario(more), StrategyChoice(name="current"), {"total": 1.0}) == []


def test_there_is_no_closed_form_where_tasks_end_or_are_reaped() -> None:
    silent = scenario(shape="silent")
    assert expected_rates(silent, StrategyChoice(name="single")) is None
    assert expected_rates(silent, StrategyChoice(name="current")) is not None
    assert expected_rates(read_preset("mixed-day"), StrategyChoice(name="current")) is None


def test_a_rate_six_per_cent_off_does_not_pass() -> None:
    rates = {"FetchTask": 100.0, "UpdateLog": 600.0, "UpdateTask": 600.0, "total": 1300.0}
    good = verdicts(scenario(), StrategyChoice(name="fixed"), rates)
    assert [one.passes for one in good] == [True, True, True]
    bad = verdicts(scenario(), StrategyChoice(name="fixed"), {**rates, "FetchTask": 106.0, "total": 1306.0})
    assert [one.passes for one in bad] == [False, True, True]


def test_a_band_measures_the_distance_to_its_nearer_end() -> None:
    band = Band(10.0, 12.0)
    assert (band.miss(9.0), band.miss(11.0), band.miss(12.5)) == (1.0, 0.0, 0.5)
    assert not Verdict("x", band, 13.0, 0.5).passes
