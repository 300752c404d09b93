"""Claims of the runtime token."""

from mockgitea.core.profiles import profile_named
from mockgitea.core.runtime_token import runtime_claims


def claims(profile: str) -> dict[str, object]:
    return runtime_claims(
        run_id=1, job_id=2, task_id=3, now_us=5_000_000, endless_timeout_s=100.0, profile=profile_named(profile)
    )


def test_claims_are_spelled_as_toolkits_read_them() -> None:
    assert claims("gitea-1.27") == {
        "scp": "Actions.Results:1:2",
        "ac": '[{"Scope":"","Permission":2}]',
        "TaskID": 3,
        "RunID": 1,
        "JobID": 2,
        "nbf": 5,
        "exp": 5 + 3600 + 100,
    }


def test_forgejo_tokens_live_a_day() -> None:
    assert claims("forgejo-15")["exp"] == 5 + 24 * 3600
