"""Claims of the runtime token that artifact and cache services read.

Real toolkits decode `scp` and `ac` without checking the signature, so their spelling is part of the protocol.
Source: docs/protocol.md, "Runtime token".
"""

from typing import Any

from mockgitea.core.profiles import Profile

_SECOND_US = 1_000_000


def runtime_claims(
    *, run_id: int, job_id: int, task_id: int, now_us: int, endless_timeout_s: float, profile: Profile
) -> dict[str, Any]:
    """Return the claims of a task's runtime token.

    Args:
        run_id: row of the run.
        job_id: row of the job.
        task_id: the task.
        now_us: when the task is handed out.
        endless_timeout_s: how long a task may run; a token has to outlive it.
        profile: how long tokens live.
    Source: docs/protocol.md, "Runtime token".
    """
    now_s = now_us // _SECOND_US
    life_s = profile.runtime_token_life_s + (endless_timeout_s if profile.runtime_token_adds_timeout else 0)
    return {
        "scp": f"Actions.Results:{run_id}:{job_id}",
        "ac": '[{"Scope":"","Permission":2}]',
        "TaskID": task_id,
        "RunID": run_id,
        "JobID": job_id,
        "nbf": now_s,
        "exp": now_s + round(life_s),
    }
