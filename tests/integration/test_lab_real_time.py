"""The laboratory over real sockets and real processes: the same ratios, and the same rates as in virtual time.

Each fleet is a process of its own beside its server's; reports have production intervals, and polls reach their cap
within seconds. `make lab-test` adds runner daemons that run real steps.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eventually import eventually
from labruns import IS_FULL, full_size
from mockgitea.lab.scenario_reader import read_file
from mockgitea.lab.suite import run_suite
from runnerproc import RunnerProcess
from serverproc import Mock

pytestmark = pytest.mark.slow

Modes = dict[str, dict[str, dict[str, Any]]]

STRATEGIES = ("fixed", "single")
TWENTY = """
time: {time}
fleet: {{runners: 20, capacity: 4, start_spread_s: 2, running_tasks: 3}}
workload: {{shape: mixed, job_s: 1000}}
strategies:
  - {{name: fixed, poll: {{fetch_interval: 2s}}, report: {{interval: 2s}}}}
  - {{name: single, poll: {{fetch_interval: 1s, fetch_interval_max: 4s}}}}
warm_up_s: 8
duration_s: 10
"""
WITHIN_S = 120.0
quiet_machine = pytest.mark.skipif(
    not IS_FULL, reason="compares real time with virtual time, which a busy machine spoils; `make lab-test` runs it"
)
ATTEMPTS = 2 if IS_FULL else 1


def lab(*arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "mockgitea", "lab", *arguments]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ended(process: "subprocess.Popen[str]") -> str:
    """Wait for the end of a command that must succeed and return what it printed."""
    printed, complaint = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 0, complaint
    return printed


@pytest.fixture(scope="module")
def modes(tmp_path_factory: pytest.TempPathFactory) -> Modes:
    """Both modes of the same scenario. Where the machine was too busy for the real one, it gets another try."""
    folder = tmp_path_factory.mktemp("lab")
    for time in ("real", "virtual"):
        (folder / f"{time}.yaml").write_text(TWENTY.format(time=time))
    virtual = {one["strategy"]: one for one in run_suite(read_file(folder / "virtual.yaml"))["results"]}
    for _ in range(ATTEMPTS):
        real = real_results(folder)
        agree = [total(real, name) == near(total(virtual, name)) for name in STRATEGIES]
        if all(agree) and saving(real) == near(saving(virtual)):
            break
    return {"real": real, "virtual": virtual}


def real_results(folder: Path) -> dict[str, dict[str, Any]]:
    """Run the two fleets at the same time, each against a server of its own."""
    targets = {name: folder / f"{name}.json" for name in STRATEGIES}
    fleets = [lab(str(folder / "real.yaml"), "--strategy", name, "--json", str(path)) for name, path in targets.items()]
    for fleet in fleets:
        ended(fleet)
    return {name: json.loads(path.read_text())["results"][0] for name, path in targets.items()}


def total(results: dict[str, dict[str, Any]], strategy: str) -> float:
    return float(results[strategy]["rates"]["total"])


def saving(results: dict[str, dict[str, Any]]) -> float:
    """Return which share of the requests of `fixed` is left under `single`."""
    return total(results, "single") / total(results, "fixed")


def near(rate: float) -> Any:
    """Equal within the 15 % that the two modes may differ by."""
    return pytest.approx(rate, rel=0.15)


@quiet_machine
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_both_modes_agree_on_rates_within_15_per_cent(modes: Modes, strategy: str) -> None:
    real, virtual = (modes[mode][strategy]["rates"] for mode in ("real", "virtual"))
    reports = [rates["UpdateLog"] + rates["UpdateTask"] for rates in (real, virtual)]
    print(f"{strategy}: real {real}, virtual {virtual}")
    assert real["total"] == near(virtual["total"])
    assert real["FetchTask"] == near(virtual["FetchTask"])
    assert reports[0] == near(reports[1])
    assert modes["real"][strategy]["tasks"]["assigned"] == modes["virtual"][strategy]["tasks"]["assigned"] == 60


def test_twenty_real_runners_need_a_third_of_the_requests(modes: Modes) -> None:
    real, virtual = saving(modes["real"]), saving(modes["virtual"])
    print(f"single / fixed: real {real:.3f}, virtual {virtual:.3f}")
    # Both fleets ran side by side, so a busy machine slows both; each figure alone needs a quiet one.
    assert real < 0.35
    assert virtual < 0.35


@quiet_machine
def test_twenty_real_runners_save_what_virtual_ones_save(modes: Modes) -> None:
    assert saving(modes["real"]) == near(saving(modes["virtual"]))


@quiet_machine
def test_rows_of_real_runners_are_visible_within_the_bounds_of_their_strategy(modes: Modes) -> None:
    assert modes["real"]["fixed"]["rows"]["p95_s"] <= 2 + 1 + 0.5
    assert modes["real"]["single"]["rows"]["p95_s"] <= 5 + 1 + 0.5
    assert modes["real"]["single"]["tasks"]["reaped"] == 0


CHATTY = """
on: push
jobs:
  job:
    runs-on: linux
    steps:
      - run: for number in $(seq 1 40); do echo "row $number"; sleep 0.{tenths}; done
"""


def test_attach_counts_what_a_runner_process_sends(
    serve: Callable[..., Mock], runners: Callable[..., RunnerProcess], tmp_path: Path
) -> None:
    mock = serve()
    runners(mock, capacity=2)
    target = tmp_path / "attached.json"
    # An idle runner that is heard shows that everything is up before the window begins.
    eventually(lambda: mock.control("GET", "/journal", limit=1)["entries"], bool)
    watching = lab("--attach", mock.ready["control_url"], "--duration", "6s", "--json", str(target))
    mock.enqueue(CHATTY.format(tenths=1))
    printed = ended(watching)
    (result,) = json.loads(target.read_text())["results"]
    assert "all requests" in printed
    assert (result["strategy"], result["setup"]["runners"]) == ("attached", 1)
    # One slot goes on polling; its back-off has reached the cap of 0.5 s, give or take a fifth.
    assert 1.5 <= result["rates"]["FetchTask"] <= 6
    assert result["rates"]["UpdateLog"] > 0
    assert result["rates"]["UpdateTask"] > 0
    assert result["tasks"]["assigned"] == 1
    assert result["tasks"]["reaped"] == 0
    assert result["rows"]["count"] >= 1
    assert 0 < result["rows"]["max_s"] <= 5 + 1 + 0.5
    assert result["connections"]["opened"] >= 1
    assert result["pickup"]["count"] == 0
    assert result["fetches"]["while_full"] is None


@full_size
def test_twenty_daemons_save_what_the_laboratory_says(
    serve: Callable[..., Mock], runners: Callable[..., RunnerProcess], tmp_path: Path
) -> None:
    """Twenty runner processes, three tasks with real steps on each, counted from outside."""
    totals = {}
    for preset in STRATEGIES:
        mock = serve("--journal-entries", "500000")
        started = [
            runners(
                mock,
                name=f"{preset}-{place}",
                labels=("linux:host", f"only-{place}:host"),
                capacity=4,
                settings={"preset": preset, "fetch_interval": "2s", "fetch_interval_max": "60s"},
            )
            for place in range(20)
        ]
        for place in range(20):
            for _ in range(3):
                mock.enqueue(CHATTY.replace("linux", f"only-{place}").replace("40", "400").format(tenths=9))
        eventually(
            lambda mock=mock: mock.control("GET", "/runs", status="running")["total"], (60.0).__eq__, within_s=WITHIN_S
        )
        target = tmp_path / f"{preset}.json"
        ended(lab("--attach", mock.ready["control_url"], "--duration", "20s", "--json", str(target)))
        totals[preset] = json.loads(target.read_text())["results"][0]["rates"]["total"]
        for runner in started:
            runner.kill()
    print(totals)
    # Round trips of a busy machine lengthen each round of `fixed`.
    assert 0.7 * 20 * 6.5 <= totals["fixed"] <= 1.05 * 20 * 6.5
    # A row a second: UpdateLog twice and UpdateTask once in five seconds.
    assert totals["single"] == pytest.approx(20 * 3 * 0.6, rel=0.2)
