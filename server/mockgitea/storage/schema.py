"""The tables, in SQLAlchemy Core: the one description of what the server remembers.

Times are integer microseconds since the epoch (`*_us`), 0 = not yet. Statuses are the numbers of
`actionswire.result.Status`. Scopes are `(owner_id, repo_id)`: `(0, 0)` is global, `(owner, 0)` an owner,
`(0, repo)` a repository for runners, tokens, secrets and counters; runs, jobs and tasks carry both ids.
"""

from typing import Final

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

SCHEMA_VERSION: Final = 2
"""Stored in `meta`; a file of another version is refused with the remedy named."""

metadata = MetaData()

_FINAL: Final = "(1, 2, 3, 4)"


def _id() -> Column[int]:
    # Tables whose ids peers keep (run, job, task) add sqlite_autoincrement: an id never comes back after a deletion.
    return Column("id", Integer, primary_key=True, autoincrement=True)


def _us(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, default=0)


def _count(name: str, default: int = 0) -> Column[int]:
    return Column(name, BigInteger, nullable=False, default=default)


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, default="")


def _flag(name: str) -> Column[bool]:
    return Column(name, Boolean, nullable=False, default=False)


meta = Table("meta", metadata, Column("key", String(64), primary_key=True), _text("value"))

owner = Table(
    "owner",
    metadata,
    _id(),
    Column("name", String(255), nullable=False, unique=True),
    Column("kind", String(8), CheckConstraint("kind IN ('user', 'org')"), nullable=False, default="user"),
)

repository = Table(
    "repository",
    metadata,
    _id(),
    _count("owner_id"),
    Column("owner_name", String(255), nullable=False),
    Column("name", String(255), nullable=False),
    Column("default_branch", String(255), nullable=False, default="main"),
    Column("has_actions", Boolean, nullable=False, default=True),
    _count("last_run_number"),
    _us("created_us"),
    UniqueConstraint("owner_name", "name"),
)

# Kept as text, as Gitea does: REST has to show the scope's active token again.
registration_token = Table(
    "registration_token",
    metadata,
    _id(),
    Column("token", String(64), nullable=False, unique=True),
    _count("owner_id"),
    _count("repo_id"),
    Column("is_active", Boolean, nullable=False, default=True),
    _us("created_us"),
    Index("ix_registration_token_scope", "owner_id", "repo_id", "id"),
)

runner = Table(
    "runner",
    metadata,
    _id(),
    Column("uuid", String(36), nullable=False, unique=True),
    Column("name", String(255), nullable=False),
    _text("version"),
    _text("description"),
    _count("owner_id"),
    _count("repo_id"),
    Column("token_hash", String(64), nullable=False),
    Column("token_salt", String(32), nullable=False),
    Column("labels", JSON, nullable=False, default=list),
    _flag("is_ephemeral"),
    _flag("is_disabled"),
    _flag("has_cancelling"),
    _us("last_online_us"),
    _us("last_active_us"),
    _us("created_us"),
    _us("updated_us"),
    _us("deleted_us"),
)

tasks_version = Table(
    "tasks_version",
    metadata,
    Column("owner_id", Integer, primary_key=True),
    Column("repo_id", Integer, primary_key=True),
    _count("version"),
)

run = Table(
    "run",
    metadata,
    _id(),
    _count("owner_id"),
    _count("repo_id"),
    _count("number"),
    Column("workflow_file", String(255), nullable=False),
    _text("workflow_name"),
    Column("workflow_source", LargeBinary, nullable=False),
    _text("title"),
    Column("event", String(64), nullable=False),
    Column("event_payload", JSON, nullable=False, default=dict),
    Column("inputs", JSON, nullable=False, default=dict),
    _text("ref"),
    _text("base_ref"),
    _text("head_ref"),
    _text("commit_sha"),
    _flag("is_fork_pull_request"),
    _flag("needs_approval"),
    _flag("is_approved"),
    _text("actor"),
    _text("triggering_actor"),
    _count("status"),
    _count("attempt", 1),
    _text("concurrency_group"),
    _flag("concurrency_cancel"),
    _flag("concurrency_queues"),
    _us("created_us"),
    _us("updated_us"),
    _us("started_us"),
    _us("stopped_us"),
    UniqueConstraint("repo_id", "number"),
    Index("ix_run_group", "repo_id", "concurrency_group", "status"),
    sqlite_autoincrement=True,
)

# One row per attempt on profiles whose rerun clones jobs; the run row itself always shows the latest.
run_attempt = Table(
    "run_attempt",
    metadata,
    _id(),
    _count("run_id"),
    _count("number", 1),
    _text("triggering_actor"),
    _count("status"),
    _us("created_us"),
    _us("started_us"),
    _us("stopped_us"),
    UniqueConstraint("run_id", "number"),
)

job = Table(
    "job",
    metadata,
    _id(),
    _count("run_id"),
    _count("owner_id"),
    _count("repo_id"),
    _text("commit_sha"),
    _flag("is_fork_pull_request"),
    Column("name", Text, nullable=False),
    Column("job_id", Text, nullable=False),
    _count("attempt", 1),
    Column("is_latest", Boolean, nullable=False, default=True),
    Column("payload", LargeBinary, nullable=False),
    Column("needs", JSON, nullable=False, default=list),
    Column("runs_on", JSON, nullable=False, default=list),
    _text("if_text"),
    _flag("continues_on_error"),
    _text("handle"),
    Column("concurrency", JSON, nullable=True),
    _text("concurrency_group"),
    _flag("concurrency_cancel"),
    _text("failure_reason"),
    _count("task_id"),
    _count("source_task_id"),
    _count("status"),
    _us("created_us"),
    _us("updated_us"),
    _us("started_us"),
    _us("stopped_us"),
    CheckConstraint("status BETWEEN 0 AND 8", name="ck_job_status"),
    CheckConstraint("status != 5 OR task_id = 0", name="ck_job_waiting_has_no_task"),
    # Whole seconds: the order in which real servers hand out jobs. `storage/queue.py` spells it the same way.
    Index("ix_job_queue", "status", text("updated_us / 1000000"), "id"),
    Index("ix_job_run", "run_id"),
    Index("ix_job_repo_status", "repo_id", "status"),
    sqlite_autoincrement=True,
)

task = Table(
    "task",
    metadata,
    _id(),
    _count("job_id"),
    _count("attempt", 1),
    _count("runner_id"),
    _count("owner_id"),
    _count("repo_id"),
    _text("commit_sha"),
    _flag("is_fork_pull_request"),
    _count("status"),
    Column("token_hash", String(64), nullable=False),
    Column("token_salt", String(32), nullable=False),
    Column("token_last_eight", String(8), nullable=False),
    _text("request_key"),
    _text("log_filename"),
    _flag("is_log_sealed"),
    _flag("is_log_expired"),
    _count("log_rows"),
    _count("log_bytes"),
    _us("created_us"),
    _us("updated_us"),
    _us("started_us"),
    _us("stopped_us"),
    CheckConstraint("status BETWEEN 0 AND 8", name="ck_task_status"),
    Index("ix_task_job", "job_id"),
    Index("ix_task_runner", "runner_id", "status"),
    Index("ix_task_status", "status", "updated_us"),
    Index("ix_task_request_key", "request_key", sqlite_where=Column("request_key") != ""),
    sqlite_autoincrement=True,
)

step = Table(
    "step",
    metadata,
    _id(),
    _count("task_id"),
    Column("number", Integer, nullable=False),
    Column("name", String(255), nullable=False),
    _count("status"),
    _count("log_index"),
    _count("log_length"),
    _us("started_us"),
    _us("stopped_us"),
    UniqueConstraint("task_id", "number"),
)

task_output = Table(
    "task_output",
    metadata,
    Column("task_id", Integer, primary_key=True),
    Column("key", String(255), primary_key=True),
    _text("value"),
)

# Only profiles with job summaries fill it. A job has one task, so the job stands for its attempt.
job_summary = Table(
    "job_summary",
    metadata,
    Column("job_id", Integer, primary_key=True),
    Column("step_number", Integer, primary_key=True),
    _count("run_id"),
    Column("body", LargeBinary, nullable=False),
    Index("ix_job_summary_run", "run_id"),
)

# One row per accepted UpdateLog call, not per log row: the body holds the stored lines exactly as a download shows
# them (`<time> <content>\n`), so a download is a concatenation and an append is one insert.
log_chunk = Table(
    "log_chunk",
    metadata,
    Column("task_id", Integer, primary_key=True),
    Column("first_row", BigInteger, primary_key=True),
    _count("row_count"),
    Column("body", LargeBinary, nullable=False),
    _us("stored_us"),
)

secret = Table(
    "secret",
    metadata,
    _id(),
    _count("owner_id"),
    _count("repo_id"),
    Column("name", String(255), nullable=False),
    _text("value"),
    _text("description"),
    _us("created_us"),
    UniqueConstraint("owner_id", "repo_id", "name"),
)

variable = Table(
    "variable",
    metadata,
    _id(),
    _count("owner_id"),
    _count("repo_id"),
    Column("name", String(255), nullable=False),
    _text("value"),
    _text("description"),
    _us("created_us"),
    UniqueConstraint("owner_id", "repo_id", "name"),
)

commit_status = Table(
    "commit_status",
    metadata,
    _id(),
    _count("repo_id"),
    Column("commit_sha", String(64), nullable=False),
    Column("context", String(255), nullable=False),
    Column("state", String(16), nullable=False),
    _text("description"),
    _text("target_url"),
    _us("updated_us"),
    UniqueConstraint("repo_id", "commit_sha", "context"),
)

# Workflow files the server knows per repository, so that they can be listed and dispatched over REST.
workflow = Table(
    "workflow",
    metadata,
    _id(),
    _count("repo_id"),
    Column("file", String(255), nullable=False),
    _text("name"),
    Column("source", LargeBinary, nullable=False),
    Column("is_enabled", Boolean, nullable=False, default=True),
    _us("created_us"),
    _us("updated_us"),
    UniqueConstraint("repo_id", "file"),
)
