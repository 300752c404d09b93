"""What the control API answers: the shapes behind its OpenAPI document.

Times are RFC 3339 texts in UTC, null when not reached; durations are seconds. No shape has room for a secret, except
the two that hand out a token at its creation.
"""

from typing import Any

from pydantic import BaseModel, Field

Time = str | None


class RepositoryAnswer(BaseModel):
    """A repository."""

    id: int
    owner: str
    name: str
    full_name: str = Field(description="`owner/name`, the form every other call takes.")
    default_branch: str


class RepositoriesAnswer(BaseModel):
    """All repositories, oldest first."""

    repositories: list[RepositoryAnswer]


class NewJobAnswer(BaseModel):
    """One job of a run that was just made."""

    id: int
    job_id: str = Field(description="The job's key in the workflow file.")
    name: str
    status: str


class EnqueuedAnswer(BaseModel):
    """A run that was just made."""

    run_id: int
    run_number: int
    repository: str
    status: str
    jobs: list[NewJobAnswer]


class StepAnswer(BaseModel):
    """A step of a task, as the runner last reported it."""

    number: int = Field(description="0-based position.")
    name: str
    status: str
    log_index: int = Field(description="Position of its first row in the task's log.")
    log_length: int = Field(description="How many rows the runner claims for it.")
    started_at: Time
    stopped_at: Time


class TaskAnswer(BaseModel):
    """One attempt at a job."""

    id: int
    job_id: int = Field(description="Number of the job this is an attempt at.")
    run_id: int
    status: str
    attempt: int
    runner_id: int
    log_rows: int
    log_bytes: int
    is_log_sealed: bool
    is_log_expired: bool
    created_at: Time
    updated_at: Time = Field(description="The zombie reaper measures from here.")
    started_at: Time
    stopped_at: Time
    steps: list[StepAnswer]
    outputs: dict[str, str]


class JobAnswer(BaseModel):
    """One job of a run."""

    id: int
    run_id: int
    job_id: str = Field(description="The job's key in the workflow file.")
    name: str
    status: str
    attempt: int
    handle: str = Field(description="Forgejo: names this attempt for FetchSingleTask; empty elsewhere.")
    needs: list[str]
    runs_on: list[str]
    failure_reason: str = Field(description="Why the server failed it before any runner saw it; usually empty.")
    created_at: Time
    started_at: Time
    stopped_at: Time
    task: TaskAnswer | None = Field(description="The latest task; null while the job has none.")


class RunSummary(BaseModel):
    """A run without its jobs."""

    id: int
    number: int
    repository: str
    workflow_file: str
    workflow_name: str
    title: str
    event: str
    ref: str
    sha: str
    actor: str
    triggering_actor: str
    status: str
    attempt: int
    needs_approval: bool
    is_fork_pull_request: bool
    created_at: Time
    started_at: Time
    stopped_at: Time


class RunAnswer(RunSummary):
    """A run with the jobs of its latest attempt."""

    jobs: list[JobAnswer]


class RunsAnswer(BaseModel):
    """Runs, newest first."""

    runs: list[RunSummary]
    total: int


class RunnerAnswer(BaseModel):
    """A registered runner."""

    id: int
    uuid: str
    name: str
    version: str
    description: str
    owner_id: int = Field(description="0 unless the runner belongs to one owner.")
    repository_id: int = Field(description="0 unless the runner belongs to one repository.")
    labels: list[str]
    status: str = Field(description="`offline`, `idle` or `active`, computed from the two times.")
    is_ephemeral: bool
    is_disabled: bool
    has_cancelling: bool = Field(description="It declared that it runs post steps after a cancel.")
    last_online_at: Time
    last_active_at: Time
    created_at: Time


class RunnersAnswer(BaseModel):
    """All runners, oldest first."""

    runners: list[RunnerAnswer]


class NewRunnerAnswer(BaseModel):
    """A runner just made; the only time its token is shown."""

    id: int
    uuid: str
    token: str
    name: str
    labels: list[str]
    address: str = Field(description="The instance URL for its `.runner` file.")
    is_ephemeral: bool


class TokenAnswer(BaseModel):
    """A registration token."""

    token: str


class StoredNameAnswer(BaseModel):
    """A secret: its name and times, never its value."""

    name: str
    description: str
    created_at: Time


class SecretsAnswer(BaseModel):
    """The secrets of one scope."""

    secrets: list[StoredNameAnswer]


class VariableAnswer(StoredNameAnswer):
    """A variable with its value."""

    value: str


class VariablesAnswer(BaseModel):
    """The variables of one scope."""

    variables: list[VariableAnswer]


class StoredAnswer(BaseModel):
    """What became of a secret or variable."""

    name: str
    is_new: bool


class ClockAnswer(BaseModel):
    """The server's clock."""

    mode: str = Field(description="`system`, `offset` or `manual`; the first cannot be moved.")
    now: str
    now_us: int = Field(description="Microseconds since the Unix epoch.")


class CountsAnswer(BaseModel):
    """What a maintenance job did, as counts by name."""

    name: str
    counts: dict[str, int]


class SettingsAnswer(BaseModel):
    """The settings that may change while the server runs."""

    max_concurrent_task_picks: int


class CommitStatusAnswer(BaseModel):
    """One commit status."""

    sha: str
    context: str
    state: str
    description: str
    target_url: str
    updated_at: Time


class CommitStatusesAnswer(BaseModel):
    """Commit statuses, in order of context."""

    statuses: list[CommitStatusAnswer]


Totals = dict[str, dict[str, int]]


class CountersAnswer(BaseModel):
    """Calls counted since the start or the last reset."""

    total: int
    calls: Totals = Field(description="Method, then outcome, then how many calls.")
    runners: dict[str, Totals] = Field(description="The same for each runner that proved who it is, by UUID.")


class JournalAnswer(BaseModel):
    """Calls seen on the runner's ports, oldest first."""

    entries: list[dict[str, Any]]
    opened_total: int = Field(description="Calls recorded since the start or the last reset.")
    evicted_total: int = Field(description="How many of them the bounded journal has dropped.")


class VersionAnswer(BaseModel):
    """What this server is."""

    version: str = Field(description="Version of the mock itself.")
    profile: str
    server_version: str = Field(description="Version that the imitated server shows.")
    seed: int = Field(description="Start with `--seed` and this number to draw the same ids and tokens again.")
    is_mock: bool = True
    runner_url: str
