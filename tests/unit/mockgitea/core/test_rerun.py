"""Which jobs a rerun takes, and how they start."""

from actionswire.result import Status
from mockgitea.core.rerun import FinishedJob, failed_rows, jobs_to_rerun

S, F, C, K = Status.SUCCESS, Status.FAILURE, Status.CANCELLED, Status.SKIPPED


def job(row: int, job_id: str, *needs: str, status: Status = S, is_spoilt: bool = False) -> FinishedJob:
    return FinishedJob(row, job_id, needs, status, is_spoilt)


CHAIN = [job(1, "a"), job(2, "b", "a", status=F), job(3, "c", "b", status=K), job(4, "d", "a")]


def test_all_jobs_run_again_in_the_order_of_their_needs() -> None:
    assert jobs_to_rerun(CHAIN, [1, 2, 3, 4]) == {1: False, 2: True, 3: True, 4: True}


def test_failed_jobs_take_their_dependants_along() -> None:
    assert failed_rows(CHAIN) == [2]
    assert jobs_to_rerun(CHAIN, [2]) == {2: False, 3: True}


def test_chosen_job_starts_at_once_though_it_has_needs() -> None:
    assert jobs_to_rerun(CHAIN, [3]) == {3: False}


def test_cancelled_counts_as_failed_and_skipped_does_not() -> None:
    assert failed_rows([job(1, "a", status=C), job(2, "b", status=K)]) == [1]


def test_one_sibling_alone_takes_dependants_but_no_siblings() -> None:
    jobs = [job(1, "m"), job(2, "m"), job(3, "n", "m")]
    assert jobs_to_rerun(jobs, [2]) == {2: False, 3: True}


def test_unfinished_and_spoilt_jobs_stay_as_they_are() -> None:
    jobs = [job(1, "a", status=Status.RUNNING), job(2, "b", is_spoilt=True, status=F), job(3, "c")]
    assert jobs_to_rerun(jobs, [1, 2, 3]) == {3: False}
