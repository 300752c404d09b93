"""The laboratory over real sockets and real processes: the same ratios, and the same rates as in virtual time.

Intervals are as in production, except where a test says so; fleets are small and windows short.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mockgitea.lab.real_time import run_real
from mockgitea.lab.scenario_reader import parse
from mockgitea.lab.suite import run_suite
from serverproc import ServerProcess

pytestmark = pytest.mark.slow

# Shorter waits of the poller in both modes, so that its cap is reached within seconds.
TWENTY = """
time: {time}
fleet: {{runners: 20, capacity: 4, start_spread_s: 2, running_tasks: 3}}
workload: {{shape: mixed, job_s: 1000}}
strategies:
  - {{name: fixed, poll: {{fetch_interval: 2s}}, report: {{interval: 2s}}}}
  - {{name: single, poll: {{fetch_interval: 1s, fetch_interval_max: 4s}}}}
warm_up_s: 7
duration_s: 9
"""


@pytest.fixture(scope="module")
def modes() -> dict[str, dict[str, dict[str, Any]]]:
    real = run_real(parse(TWENTY.format(time="real"), name="twenty"))
    virtual = run_suite(parse(TWENTY.format(time="virtual"), name="twenty"))
    return {
        mode: {result["strategy"]: result for result in content["results"]}
        for mode, content in (("real", real), ("virtual", virtual))
    }


@pytest.mark.parametrize("strategy", ["fixed", "single"])
def test_both_modes_agree_on_rates(modes: dict[str, dict[str, dict[str, Any]]], strategy: str) -> None:
    real, virtual = (modes[mode][strategy]["rates"] for mode in ("real", "virtual"))
    assert real["total"] == pytest.approx(virtual["total"], rel=0.15)
    assert real["FetchTask"] == pytest.approx(virtual["FetchTask"], rel=0.15)


def test_twenty_real_runners_save_what_virtual_ones_save(modes: dict[str, dict[str, dict[str, Any]]]) -> None:
    ratios = [modes[mode]["single"]["rates"]["total"] / modes[mode]["fixed"]["rates"]["total"] for mode in modes]
    print(f"single / fixed: real {ratios[0]:.3f}, virtual {ratios[1]:.3f}")
    assert ratios[0] == pytest.approx(ratios[1], rel=0.15)
    assert ratios[0] < 0.35


def test_rows_of_real_runners_are_visible_within_the_bounds_of_their_strategy(
    modes: dict[str, dict[str, dict[str, Any]]],
) -> None:
    assert modes["real"]["fixed"]["rows"]["p95_s"] <= 2 + 1 + 0.5
    assert modes["real"]["single"]["rows"]["p95_s"] <= 5 + 1 + 0.5
    assert modes["real"]["single"]["tasks"]["reaped"] == 0


def test_attach_counts_what_foreign_runners_send(tmp_path: Path) -> None:
    server = ServerProcess("--port", "0", "--control-port", "0")
    try:
        target = tmp_path / "attached.json"
        command = [sys.executable, "-m", "mockgitea", "lab", "--attach", server.ready["control_url"]]
        done = subprocess.run(
            [*command, "--duration", "2s", "--json", str(target)],
            capture_output=True, text=True, timeout=60, env={**os.environ}, check=False,
        )  # fmt: skip
    finally:
        server.stop()
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(target.read_text())["results"]
    assert result["strategy"] == "attached"
    assert result["rates"]["total"] == 0
    assert "all requests" in done.stdout
