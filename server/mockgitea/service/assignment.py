"""Build the message of a task: payload, context, secrets, variables, needs and runtime token.

Runs inside the claim's transaction. Nothing it makes is logged: it holds tokens and secrets.
Source: docs/protocol.md, "Task message".
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import jwt

from mockgitea.core.claimed import AssignmentFailed, ClaimedTask
from mockgitea.core.context import github_context
from mockgitea.core.messages import Assignment, Need
from mockgitea.core.needs import seen_needs
from mockgitea.core.profiles import Profile
from mockgitea.core.runtime_token import runtime_claims
from mockgitea.randomness import Randomness
from mockgitea.storage.interface import Tx
from mockgitea.storage.needs import load_needed
from mockgitea.storage.run_facts import run_facts
from mockgitea.storage.signing import keep_signing_secret
from mockgitea.storage.vault import secrets_for, vars_for

PAYLOAD_BYTES_MAX: Final = 4 * 1024 * 1024
SIGNATURE: Final = "HS256"


class AssignmentBuilder:
    """Builds task messages.

    Args:
        profile: the imitated server.
        randomness: draws the signing secret of a new database.
        endless_timeout_s: how long a task may run; its runtime token outlives that.
        app_url: returns the instance address with a trailing slash.
    """

    def __init__(
        self,
        *,
        profile: Profile,
        randomness: Randomness,
        endless_timeout_s: float,
        app_url: Callable[[], str],
    ) -> None:
        self._profile = profile
        self._endless_timeout_s = endless_timeout_s
        self._app_url = app_url
        # Drawn here, because an intent may run twice; a database that has one already keeps its own.
        self._fresh_secret = f"{randomness.stream('runtime-token').getrandbits(256):064x}"

    def build(self, tx: Tx, claimed: ClaimedTask) -> Assignment:
        """Return the message of a claimed task.

        Args:
            tx: the claim's transaction.
            claimed: task, job and run with the plain token.

        Raises:
            AssignmentFailed: this job can never have a message.
        Source: docs/protocol.md, "Task message".
        """
        job, row = claimed.job, claimed.run
        if len(job["payload"]) > PAYLOAD_BYTES_MAX:
            raise AssignmentFailed(f"the job's payload has {len(job['payload'])} bytes, more than {PAYLOAD_BYTES_MAX}")
        return Assignment(
            task_id=claimed.task["id"],
            payload=job["payload"],
            context=self._context(tx, claimed),
            secrets=self._secrets(tx, claimed),
            vars=vars_for(tx.conn, owner_id=row["owner_id"], repo_id=row["repo_id"]),
            needs=self._needs(tx, job),
        )

    def _context(self, tx: Tx, claimed: ClaimedTask) -> dict[str, Any]:
        profile = self._profile
        row = claimed.run
        attempt = row["attempt"] if profile.rerun_clones_jobs else claimed.task["attempt"]
        facts = run_facts(tx.conn, row, attempt=attempt)
        job = claimed.job["job_id"] if profile.job_context_is_id else str(claimed.job["id"])
        context = github_context(facts, job=job, app_url=self._app_url(), profile=profile)
        context["token"] = claimed.token
        if profile.has_runtime_token:
            context["gitea_runtime_token"] = self._runtime_token(tx, claimed)
        return context

    def _runtime_token(self, tx: Tx, claimed: ClaimedTask) -> str:
        claims = runtime_claims(
            run_id=claimed.run["id"],
            job_id=claimed.job["id"],
            task_id=claimed.task["id"],
            now_us=tx.now_us,
            endless_timeout_s=self._endless_timeout_s,
            profile=self._profile,
        )
        return jwt.encode(claims, keep_signing_secret(tx, self._fresh_secret), algorithm=SIGNATURE)

    def _secrets(self, tx: Tx, claimed: ClaimedTask) -> dict[str, str]:
        row = claimed.run
        secrets = dict.fromkeys(self._profile.token_secret_names, claimed.token)
        if row["is_fork_pull_request"] and row["event"] != "pull_request_target":
            return secrets
        return secrets_for(tx.conn, owner_id=row["owner_id"], repo_id=row["repo_id"]) | secrets

    def _needs(self, tx: Tx, job: Mapping[str, Any]) -> dict[str, Need]:
        if not job["needs"]:
            return {}
        return seen_needs(load_needed(tx.conn, job["run_id"], job["needs"]), self._profile)
