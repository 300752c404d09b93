"""The laboratory finds faults that old runners are known to have."""

import pytest

from labruns import figures, preset

pytestmark = pytest.mark.slow

IDLE = """
fleet: {{runners: 4, capacity: {capacity}, start_spread_s: 30}}
strategies: [{{name: single}}]
warm_up_s: 120
duration_s: 600
"""


@pytest.mark.parametrize("strategy", ["single", "per-worker"])
def test_silent_jobs_are_reaped_by_the_zombie_rule_where_nobody_sends_a_heartbeat(strategy: str) -> None:
    result = preset("silent", strategy, runners=3)
    assert result.tasks == {"assigned": 3, "closed": 0, "reaped": 3, "waiting_at_end": 0}
    assert result.heartbeat["max_s"] > 600


def test_silent_jobs_live_on_while_the_server_waits_longer_than_their_steps() -> None:
    """The reaping is the server's rule at work, and nothing else."""
    patient = """
fleet: {runners: 3, start_spread_s: 10, running_tasks: 1}
workload: {shape: silent}
strategies: [{name: single}]
server: {zombie_timeout_s: 1300}
warm_up_s: 120
duration_s: 1500
"""
    assert figures(patient).tasks == {"assigned": 3, "closed": 0, "reaped": 0, "waiting_at_end": 0}


def test_silent_jobs_of_the_current_runner_are_not_reaped() -> None:
    result = preset("silent", "current", runners=3)
    assert result.tasks == {"assigned": 3, "closed": 0, "reaped": 0, "waiting_at_end": 0}
    assert result.heartbeat["max_s"] <= 10.5


def test_polls_of_per_worker_grow_with_the_capacity_and_those_of_single_do_not() -> None:
    single = [figures(IDLE.format(capacity=slots), "single").rates["FetchTask"] for slots in (1, 8)]
    each = [figures(IDLE.format(capacity=slots), "per-worker").rates["FetchTask"] for slots in (1, 8)]
    assert single[1] == pytest.approx(single[0], rel=0.1)
    assert each[1] == pytest.approx(8 * each[0], rel=0.1)


@pytest.mark.parametrize(("pool", "is_churned"), [("tuned", False), ("two-idle", True)])
def test_two_idle_connections_are_churned_where_ten_are_kept(pool: str, is_churned: bool) -> None:
    text = f"""
fleet: {{runners: 1, capacity: 12, running_tasks: 12}}
workload: {{shape: chatty}}
strategies: [{{name: current, pool: {{preset: {pool}}}}}]
link: {{round_trip_s: 0.05}}
warm_up_s: 30
duration_s: 60
"""
    links = figures(text).connections
    assert (links["opened"] > 20) is is_churned
    assert links["closed_surplus"] == pytest.approx(links["opened"], abs=12)
    assert links["tls_handshakes"] == links["opened"]
