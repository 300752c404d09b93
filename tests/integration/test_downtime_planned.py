"""Planned downtime (every call is answered 503) with a real fleet: jobs run through it and end in it."""

from collections.abc import Iterator

import pytest

from downtimefleet import REAPED_S, WAIT_S, DownFleet, down_fleet, runner
from downtimestory import check_window, seeds
from eventually import eventually

SHORT = "400ms"
"""Of `report_close_timeout`: each closing call gives up after 1.2 s."""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DownFleet]:
    with down_fleet(tmp_path_factory.mktemp("planned")) as made:
        yield made


@pytest.mark.parametrize("seed", seeds(1))
def test_jobs_go_through_a_planned_window_and_end_right(fleet: DownFleet, seed: int) -> None:
    check_window(fleet, "planned", seed)


def test_a_window_longer_than_the_closing_budget_leaves_the_task_to_the_reaper(fleet: DownFleet) -> None:
    impatient = runner(fleet, "short", label="impatient", report_close_timeout=SHORT)
    try:
        jobs = fleet.enqueue(1, burst=3, label="impatient")
        fleet.started(jobs)
        fleet.down("planned")
        jobs[0].end()
        eventually(lambda: "could not be delivered" in impatient.log_text(), within_s=WAIT_S)
        eventually(lambda: "task_ended" in impatient.log_text(), within_s=WAIT_S)
        fleet.up()
        assert fleet.task(jobs[0])["status"] == "running", "nobody has told the server how it ended"
        fleet.mock.control("POST", "/clock/advance", {"seconds": REAPED_S})
        assert fleet.statuses(jobs) == {jobs[0].name: "failure"}
        fleet.check(jobs)
    finally:
        impatient.kill()
