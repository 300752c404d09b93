"""Black holes (connections are accepted and never answered) with a real fleet, and answers that vanish in one."""

from collections.abc import Iterator

import pytest

from downtimefleet import REAPED_S, DownFleet, Job, down_fleet
from downtimestory import check_window, seeds


@pytest.fixture(scope="module")
def gitea(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DownFleet]:
    with down_fleet(tmp_path_factory.mktemp("hole")) as made:
        yield made


@pytest.fixture(scope="module")
def forgejo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DownFleet]:
    with down_fleet(tmp_path_factory.mktemp("hole-forgejo"), "forgejo-15") as made:
        yield made


@pytest.mark.parametrize("seed", seeds(21))
def test_jobs_go_through_a_black_hole_and_end_right(gitea: DownFleet, seed: int) -> None:
    check_window(gitea, "black-hole", seed)


def lose_a_task_in_a_black_hole(fleet: DownFleet) -> Job:
    """Let the answer with a task vanish; the window is over afterwards."""
    job = fleet.claim_in_flight()
    task_id = fleet.task(job)["id"]
    fleet.down("black-hole")
    fleet.mock.control("DELETE", "/faults/f")
    fleet.wait_for(task=task_id, outcome="dropped")  # the runner has given up at its own deadline
    fleet.up()
    return job


def test_a_task_lost_in_a_black_hole_is_reaped_on_gitea(gitea: DownFleet) -> None:
    job = lose_a_task_in_a_black_hole(gitea)
    task_id = gitea.task(job)["id"]
    assert gitea.task(job)["status"] == "running"
    gitea.mock.control("POST", "/clock/advance", {"seconds": REAPED_S})
    assert gitea.statuses([job]) == {job.name: "failure"}
    assert gitea.task(job)["id"] == task_id
    assert job.times_run == 0, "nobody ever had it"


def test_a_task_lost_in_a_black_hole_is_recovered_by_its_request_key_on_forgejo(forgejo: DownFleet) -> None:
    job = lose_a_task_in_a_black_hole(forgejo)
    task_id = forgejo.task(job)["id"]
    forgejo.started([job])
    job.end()
    assert forgejo.statuses([job]) == {job.name: "success"}
    assert forgejo.task(job)["id"] == task_id
    forgejo.check([job])


@pytest.mark.parametrize("profile", ["gitea", "forgejo"])
def test_a_final_report_whose_answer_was_lost_counts_once(profile: str, request: pytest.FixtureRequest) -> None:
    fleet: DownFleet = request.getfixturevalue(profile)
    job = fleet.enqueue(1, burst=3)[0]
    fleet.started([job])
    task_id = fleet.task(job)["id"]
    fleet.fault("lose-answer", method="UpdateTask", task=task_id)
    job.end()
    assert fleet.statuses([job]) == {job.name: "success"}, "the server has it, though the runner does not know"
    fleet.down("black-hole", cuts=True)
    sent = fleet.calls_total
    fleet.up()
    fleet.wait_for(method="UpdateTask", task=task_id, outcome="ok", fault="", since=sent)  # the runner tells it again
    assert fleet.statuses([job]) == {job.name: "success"}
    fleet.check([job])
