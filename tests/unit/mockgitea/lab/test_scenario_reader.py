"""Scenario files: what they mean, and that every mistake is named by its field."""

from pathlib import Path

import pytest

from mockgitea.core.downtime import DownKind
from mockgitea.core.faults import FaultKind, Stage
from mockgitea.lab.fields import ScenarioError
from mockgitea.lab.scenario import TimeMode
from mockgitea.lab.scenario_reader import PRESETS, parse, read_file, read_preset
from mockgitea.lab.workload import ArrivalKind

SMALL = """
fleet: {runners: 3}
strategies: [{name: current}]
duration_s: 60
"""


def small(*lines: str) -> str:
    return "\n".join([SMALL, *lines])


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_read(name: str) -> None:
    scenario = read_preset(name)
    assert scenario.name == name
    assert scenario.description
    assert scenario.warm_up_us == 120_000_000


def test_the_headline_is_two_hundred_runners_with_three_of_four_slots_busy() -> None:
    fleet = read_preset("headline").fleet
    assert (fleet.runners, fleet.capacity, fleet.running_tasks) == (200, 4, 3)


def test_defaults_are_those_of_the_documentation() -> None:
    scenario = parse(SMALL, name="small")
    assert (scenario.name, scenario.seed, scenario.time) == ("small", 1, TimeMode.VIRTUAL)
    assert [shape.name for shape in scenario.workload.shapes] == ["chatty", "bursty-install", "quiet-download"]
    assert scenario.workload.arrivals.kind is ArrivalKind.NONE
    assert scenario.link.round_trip_us == 0
    assert scenario.strategies[0].pool == {}


def test_everything_that_can_be_said_is_read(tmp_path: Path) -> None:
    (tmp_path / "build.log").write_text("0.0 begin\n12.5 middle of it\n60 end\n")
    file = tmp_path / "full.yaml"
    file.write_text(
        """
name: everything
fleet: {runners: 2, capacity: 3, labels: [linux, arm64], start_spread_s: 1.5, running_tasks: 1}
workload:
  shape: recorded
  log: build.log
  job_s: 100
  arrivals: {process: poisson, per_hour: 7.5, start_s: 3}
strategies:
  - {name: current, label: slow, poll: {fetch_interval: 9s}, report: {log_report_batch_size: 7}}
  - {name: current, pool: {idle_connections: 2, idle_timeout: 5s}}
downtime:
  - {kind: black-hole, start_s: 10, duration_s: 20}
  - {name: port, kind: refused, start_s: 40, duration_s: 1, every_s: 10, rounds: 2}
faults:
  - {name: lost, kind: lose-answer, method: FetchTask, times: 1}
  - {kind: refuse, status: 502, body: html, probability: 0.1}
server: {zombie_timeout_s: 60, max_concurrent_task_picks: 4}
link: {round_trip_s: 0.02, tls: false}
watch: {phase_s: 0.25, sampled_tasks: 3}
duration_s: 60
warm_up_s: 0
seed: 42
profile: gitea-1.25
"""
    )
    scenario = read_file(file)
    assert scenario.name == "everything"
    assert scenario.workload.shapes[0].step_us == 20_000_000
    assert [row.text for row in scenario.workload.shapes[0].rows] == ["begin", "middle of it", "end"]
    assert [choice.title for choice in scenario.strategies] == ["slow", "current"]
    assert scenario.strategies[0].poll == {"fetch_interval": "9s"}
    assert [(rule.name, rule.kind) for rule in scenario.downtime] == [
        ("black-hole-1", DownKind.BLACK_HOLE),
        ("port", DownKind.REFUSED),
    ]
    assert (scenario.downtime[1].every_s, scenario.downtime[1].rounds) == (10.0, 2)
    assert [(rule.name, rule.kind, rule.stage, rule.times) for rule in scenario.faults] == [
        ("lost", FaultKind.LOSE_ANSWER, Stage.AFTER, 1),
        ("refuse-2", FaultKind.REFUSE, Stage.BEFORE, None),
    ]
    assert scenario.server == {"zombie_timeout_s": 60.0, "max_concurrent_task_picks": 4}
    assert (scenario.link.round_trip_us, scenario.link.has_tls) == (20_000, False)
    assert (scenario.watch.phase_us, scenario.watch.sampled_tasks) == (250_000, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2", "scenario: not valid YAML"),
        ("- 1", "scenario: must be a mapping"),
        ("duration_s: 60", "fleet: is missing"),
        (SMALL.replace("3", "0"), "fleet.runners: must be a whole number from 1"),
        (SMALL.replace("runners: 3", "runners: 3, size: 4"), "fleet.size: unknown field; choose one of capacity"),
        (SMALL.replace("60", "0.5"), "duration_s: must be a whole number"),
        (SMALL.replace("[{name: current}]", "[]"), "strategies: must be a list of 1"),
        (SMALL.replace("current", "''"), "strategies[0].name: must be a text"),
        (SMALL.replace("[{name: current}]", "[{name: a}, {name: a}]"), "strategies[1].label: 'a' is taken"),
        (small("durations: 3"), "durations: unknown field"),
        (small("workload: {shape: loud}"), "workload.shape: 'loud' is none of chatty"),
        (small("workload: {burst_piece_rows: 3}"), "workload.burst_piece_rows: must divide the 200 rows"),
        (small("workload: {shape: chatty, burst_piece_rows: 5}"), "workload.burst_piece_rows: unknown field"),
        (small("workload: {shape: recorded}"), "workload.log: is missing"),
        (small("workload: {shape: recorded, log: no.log}"), "workload.log: cannot read no.log"),
        (small("workload: {arrivals: {process: poisson}}"), "workload.arrivals.per_hour: is missing"),
        (small("downtime: [{kind: gone, duration_s: 1}]"), "downtime[0].kind: Input should be 'planned', 'refused'"),
        (small("downtime: [{kind: refused, duration_s: 0}]"), "downtime[0].duration_s: above 0"),
        (small("downtime: [{kind: refused, at_s: 5, duration_s: 9}]"), "downtime[0].at_s: Extra inputs"),
        (small("downtime: [{kind: refused, start_s: 170, duration_s: 20}]"), "refused-1 ends after the simulation"),
        (small("faults: [{kind: gone}]"), "faults[0].kind: Input should be 'refuse'"),
        (small("faults: [{kind: delay}]"), "faults[0].delay_s: above 0"),
        (small("faults: [{kind: close, times: '3'}]"), "faults[0].times: Input should be a valid integer"),
        (small("faults: [{kind: close}, {kind: hold}]"), "faults[1].kind: nobody is there to release a hold"),
        (small("faults: [{kind: hang, transport: grpc}]"), "faults[0].transport: virtual time has no gRPC port"),
        (small("faults: [{name: a, kind: hang}, {name: a, kind: close}]"), "faults[1].name: 'a' is taken"),
        (
            small("faults: [{name: a, kind: hang}]", "downtime: [{name: a, kind: refused, duration_s: 1}]"),
            "downtime[0].name: 'a' is taken",
        ),
        (small("faults: {kind: hang}"), "faults: must be a list"),
        (small("server: {seed: 4}"), "server.seed: not a server setting that a scenario may change"),
        (small("server: {zombie_timeout_s: -1}"), "server.zombie_timeout_s: must be between"),
        (small("link: {round_trip_s: .nan}"), "link.round_trip_s: must be a number"),
        (small("profile: gitea-9"), "profile: 'gitea-9' is none of"),
        (small("time: warp"), "time: 'warp' is none of virtual, real"),
        (small("fleet: {runners: 1, capacity: 2, running_tasks: 3}"), "fleet.running_tasks: must be a whole number"),
    ],
)
def test_a_mistake_is_named_by_its_field(text: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(text, name="x")
    assert message in str(caught.value)


def test_an_unknown_preset_lists_the_known_ones() -> None:
    with pytest.raises(ScenarioError, match="headline, capacity-60"):
        read_preset("../secret")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"gone\.yaml: cannot be read"):
        read_file(tmp_path / "gone.yaml")


def test_a_recorded_log_out_of_order_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.log").write_text("5 later\n4 earlier\n")
    with pytest.raises(ScenarioError, match=r"workload\.log: line 2 is earlier"):
        parse(small("workload: {shape: recorded, log: bad.log}"), name="x", folder=tmp_path)
