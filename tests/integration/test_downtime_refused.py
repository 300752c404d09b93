"""Refused downtime (the port is closed, connections are reset) with a real fleet, and a fetch that it cuts off."""

from collections.abc import Iterator

import pytest

from downtimefleet import DownFleet, down_fleet
from downtimestory import check_window, seeds
from eventually import eventually


@pytest.fixture(scope="module")
def gitea(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DownFleet]:
    with down_fleet(tmp_path_factory.mktemp("refused")) as made:
        yield made


@pytest.fixture(scope="module")
def forgejo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DownFleet]:
    with down_fleet(tmp_path_factory.mktemp("refused-forgejo"), "forgejo-15") as made:
        yield made


@pytest.mark.parametrize("seed", seeds(11))
def test_jobs_go_through_a_refused_window_and_end_right(gitea: DownFleet, seed: int) -> None:
    check_window(gitea, "refused", seed)


def test_a_claim_whose_fetch_was_cut_off_goes_back_to_the_queue_on_gitea(gitea: DownFleet) -> None:
    job = gitea.claim_in_flight()
    first = gitea.task(job)["id"]
    gitea.down("refused")
    eventually(lambda: gitea.mock.job(job.run_id, job.name), lambda found: found["status"] == "waiting")
    gitea.up()
    gitea.started([job])
    job.end()
    assert gitea.statuses([job]) == {job.name: "success"}
    assert gitea.task(job)["id"] != first, "a new task, since the first was taken back"
    gitea.check([job])


def test_a_task_whose_fetch_was_cut_off_is_recovered_by_its_request_key_on_forgejo(forgejo: DownFleet) -> None:
    job = forgejo.claim_in_flight()
    task_id = forgejo.task(job)["id"]
    forgejo.down("refused")
    forgejo.up()
    forgejo.started([job])
    job.end()
    assert forgejo.statuses([job]) == {job.name: "success"}
    assert forgejo.task(job)["id"] == task_id, "the same task, handed out again"
    forgejo.check([job])
    fetches = [call for call in forgejo.calls() if call.is_fetch]
    arrived = next(call for call in fetches if call.is_answered and task_id in call.tasks)
    key = arrived.headers["x-runner-request-key"]
    lost = [call for call in fetches if call.number < arrived.number and call.headers["x-runner-request-key"] == key]
    assert lost, "it came by the key of a fetch that had brought nothing"
    assert not any(call.is_answered for call in lost)
