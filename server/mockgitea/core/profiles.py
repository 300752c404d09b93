"""Profiles: which server release the mock imitates, as a table of feature flags.

A profile is data. Code asks for a flag, never for a profile's name, so a new release is a new row here and nothing
else. Each flag's comment says what it switches and when the real servers changed.
Source: docs/protocol.md, "Profiles".
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from actionswire.headers import JOB_SUMMARY


class Family(StrEnum):
    """Which of the two server families a profile belongs to."""

    GITEA = "gitea"
    FORGEJO = "forgejo"


class Dialect(StrEnum):
    """How refusals reach the wire. A: all `unknown`/500 with gRPC text; B: genuine codes; C: only unauthenticated."""

    A = "A"
    B = "B"
    C = "C"


class RunStatusRule(StrEnum):
    """In which order the jobs' statuses decide the run's."""

    GITEA_1_20 = "gitea-1.20"
    GITEA_1_21 = "gitea-1.21"
    GITEA_1_25 = "gitea-1.25"
    GITEA_1_27 = "gitea-1.27"
    FORGEJO = "forgejo"


class ConcurrencyRule(StrEnum):
    """How concurrency groups are treated."""

    AUTO_CANCEL = "auto-cancel"
    """No groups: a new run cancels unfinished runs of the same ref, workflow and event (see `auto_cancel_events`)."""
    GITEA = "gitea"
    """Gitea >= 1.26: run and job groups in one name space; the newest waits, older waiting ones are cancelled."""
    FORGEJO = "forgejo"
    """Forgejo >= v14: workflow level only, queueing enforced when a job is picked."""


class IfRule(StrEnum):
    """Who decides a job's `if` once its needs are done."""

    RUNNER = "runner"
    """Any `if` makes the job waiting when a need did not succeed; the runner decides."""
    SERVER = "server"
    """Gitea >= 1.27: evaluated on the server."""


class PageUrls(StrEnum):
    """How the page's polling endpoint names runs and jobs."""

    INDEX = "index"
    IDS = "ids"
    ATTEMPT = "attempt"


class LogSealRule(StrEnum):
    """When UpdateLog with `no_more` seals the log."""

    WITH_ROWS = "with-rows"
    """Only together with fresh rows (Gitea <= 1.26.1, all Forgejo)."""
    ALSO_EMPTY = "also-empty"
    """Also by an empty or repeated final call (Gitea >= 1.26.3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Feature flags of one server release. Defaults describe Gitea 1.27."""

    name: str
    server_version: str
    """What `/api/v1/version` answers."""
    family: Family = Family.GITEA
    dialect: Dialect = Dialect.A

    # --- methods and messages
    has_declare: bool = True
    """Declare exists (Gitea >= 1.21, all Forgejo); else the path is unknown."""
    has_fetch_single_task: bool = False
    """FetchSingleTask exists (Forgejo >= v15); else the path is unknown."""
    has_tasks_version: bool = True
    """Fetches carry a version that saves look-ups (Gitea >= 1.21); else it is always 0."""
    labels_from_agent_labels: bool = False
    """<= 1.21: Register reads `agent_labels` when `labels` is empty."""
    has_ephemeral: bool = True
    """Ephemeral runners: echoed, one task per life (Gitea >= 1.24, Forgejo >= v15)."""
    declare_echoes_ephemeral: bool = False
    """Declare's answer fills `ephemeral` (Forgejo)."""
    has_runner_capabilities: bool = True
    """The `cancelling` capability of Register and Declare is stored."""
    capabilities_header: str = JOB_SUMMARY
    """Value of Declare's response header; empty = header absent. With `job-summary`, summaries are taken and shown."""
    capacity_fetch: bool = False
    """Forgejo >= v14: `task_capacity` and `additional_tasks`."""
    request_key: bool = False
    """Forgejo >= v15: idempotent fetch."""

    # --- identities
    registration_token_alphabet: str = "alnum"
    """`alnum`: 40 letters and digits; `url`: 43 characters with `-` and `_` (Forgejo since 2025-11)."""
    token_salt_length: int = 10
    """Characters of the salt of runner and task tokens."""
    runner_name_cut: str = "width"
    """`width`: 255 display columns with ellipsis (Gitea); `bytes`: 255 bytes (Forgejo)."""
    has_disabled_runners: bool = True
    """A runner can be disabled: it may report, but gets no task (Gitea >= 1.26)."""
    last_online_write_s: float = 30.0
    """The stored last-online is rewritten only when at least this old; 0 = on every call."""
    last_active_write_s: float = 5.0
    """The same for last-active."""

    # --- dispatch
    has_pick_throttle: bool = True
    """More than `max_concurrent_task_picks` look-ups at once answer no task and echo the version (>= 1.27)."""
    claim_retry: bool = True
    """A lost claim goes on to the next candidate (>= 1.27); else it ends the fetch without a task."""
    claim_release: bool = True
    """A cancelled fetch or a failed payload gives the claim back (>= 1.27)."""
    empty_runs_on_matches: bool = True
    """A job with an empty `runs-on` fits every runner (Gitea); else none (Forgejo since 2025)."""
    runner_without_labels_matches_nothing: bool = False
    """A runner without labels gets no job at all (Forgejo since 2025)."""
    requires_task_owner: bool = True
    """UpdateTask and UpdateLog refuse another runner's task (Gitea >= 1.23, Forgejo >= v10)."""
    bump_on_finish: bool = True
    """A finished job bumps while its repository still has waiting jobs (Gitea >= 1.27)."""
    bump_on_final_update: bool = False
    """Forgejo: a final UpdateTask bumps the runner's scope when concurrency queueing is on."""
    bump_on_runner_toggle: bool = True
    """Enabling or disabling a runner moves its version (Gitea >= 1.26)."""
    ephemeral_any_task_blocks: bool = False
    """Forgejo: an ephemeral runner with any task gets none; Gitea removes it once its task is finished."""

    removes_ephemeral_on_final_update: bool = False
    """Forgejo: any UpdateTask with a result removes an ephemeral runner, not only the one that ends its task."""
    abandons_unapproved: bool = True
    """A job that waits too long is cancelled even while its run waits for approval (Forgejo: not then)."""
    has_offline_runner_cleanup: bool = False
    """Forgejo: `cleanup_offline_runners` exists; it runs on demand only, as the real one is off by default."""

    # --- logs
    log_seal: LogSealRule = LogSealRule.ALSO_EMPTY
    """When UpdateLog with `no_more` seals: only together with fresh rows, or also an empty or repeated call."""
    transfers_lingering_logs: bool = False
    """Forgejo >= v14: nightly sealing of final tasks' logs untouched for 24 h."""

    # --- lifecycle
    has_cancelling: bool = True
    """A cancelled task whose runner can clean up is `cancelling` until it reports (Gitea >= 1.27)."""
    run_status: RunStatusRule = RunStatusRule.GITEA_1_27
    """How a run's status follows from its jobs'."""
    if_rule: IfRule = IfRule.SERVER
    """Who decides a job's `if`."""
    resolves_after_server_stop: bool = True
    """Dependants are resolved after a cancel, reaping or abandonment too (Gitea >= 1.26)."""
    concurrency: ConcurrencyRule = ConcurrencyRule.GITEA
    """How concurrency groups are treated."""
    auto_cancel_events: tuple[str, ...] = ()
    """Events whose new run cancels unfinished older ones, with `auto-cancel`."""
    rerun_clones_jobs: bool = True
    """>= 1.27: a rerun makes new job rows and an attempt record."""
    rerun_needs_final_run: bool = True
    """A single job may be rerun only when the whole run is final (Gitea >= 1.26); else when that job is."""
    rerun_failed_needs_failure: bool = False
    """Rerunning the failed jobs of a run without any is refused (Gitea after 1.27); else everything runs again."""
    rerun_attempts_max: int = 50
    """0 = no limit."""
    attempt_counted_at_claim: bool = False
    """Gitea < 1.27: a job starts with attempt 0 and each claim counts it up; else a rerun does."""
    plans_from_needs: bool = False
    """Forgejo >= v15: a matrix or `runs-on` that reads `needs` is evaluated once the needs are done."""
    has_handles: bool = False
    """Forgejo >= v15: each attempt of a job has a handle."""
    outputs_of_taskless_sibling: str = "empty"
    """`empty`: a matrix sibling without a task erases earlier keys (>= 1.27); `skip`: it is passed over."""
    merges_siblings: bool = True
    """False: of a needed job's rows the last one alone counts, for result and outputs (before 2024-12)."""
    step_name: str = "run-first-line"
    """`run-first-line` (Gitea >= 1.26) or `first-non-empty`."""

    # --- context
    triggering_actor: bool = True
    """The context's `triggering_actor` says who started this attempt (Gitea >= 1.27); else it is empty."""
    job_context_is_id: bool = True
    """`github.job` holds the workflow's job id; before Gitea 1.24 / Forgejo v11 the number of the job row."""
    has_runtime_token: bool = True
    """Runtime JWT in the context (Gitea >= 1.22)."""
    forgejo_context: bool = False
    """The context has the fields that only Forgejo sends (`actor_id`, `workflow_ref`, ...)."""
    runtime_token_life_s: float = 3600.0
    """Seconds a task's runtime token lives."""
    runtime_token_adds_timeout: bool = True
    """Gitea: the endless-task timeout is added to the token's life."""
    default_actions_url: str = "https://github.com"
    """Where `uses` without a host is fetched from."""
    token_secret_names: tuple[str, ...] = ("GITHUB_TOKEN", "GITEA_TOKEN")
    """Secrets that hold the task token."""

    # --- page and REST
    page_urls: PageUrls = PageUrls.IDS
    """How page paths name runs and jobs."""
    page_shape: str = "gitea-1.27"
    """`gitea-1.21` (to 1.25), `gitea-1.26`, `gitea-1.27`, `forgejo-11`, `forgejo-15`."""
    page_requires_csrf_token: bool = False
    """Older servers want `X-Csrf-Token`; newer ones judge `Origin` and `Sec-Fetch-Site`."""
    set_up_ends_at_any_step: bool = True
    """`Set up job` ends at the first step that has started; before 2024-09 only step 0 could end it."""
    log_download_needs_row: bool = True
    """A log download is 404 until the first row is stored (Gitea); Forgejo answers an empty file."""
    web_approve: bool = True
    """POST `.../approve`; Forgejo >= v14 moved it to the pull request."""
    web_rerun_failed: bool = True
    """POST `.../rerun-failed` (Gitea)."""
    web_answers_ok: bool = True
    """Web actions answer `{"ok": true}` (Gitea >= 1.25) or `{}`."""
    web_rerun_redirects: bool = True
    """A web rerun answers `{"redirect": ...}` (Gitea >= 1.27, Forgejo >= v15) or as the other web actions do."""
    web_dispatch: str = "run"
    """Last part of the dispatch form's path: `run` (Gitea, inputs by name) or `manual` (Forgejo, `inputs[name]`)."""
    commit_status_wording: str = "gitea-1.27"
    """`gitea-1.27` or `old`."""
    commit_status_skipped: str = "skipped"
    """State written for a skipped job: `skipped` (Gitea >= 1.25) or `success`."""
    commit_status_reviews: bool = True
    """Runs of `pull_request_review*` events write commit statuses too."""
    commit_status_unnamed: str = "file"
    """First part of the context for an unnamed workflow: `file` (Gitea) or `empty` (Forgejo)."""
    rest_registration_token_methods: tuple[str, ...] = ("POST",)
    """Verbs that answer a scope's registration token over REST."""
    rest_runners: bool = True
    """REST lists and deletes runners."""
    rest_runner_patch: bool = True
    """REST enables and disables runners (Gitea >= 1.26)."""
    rest_runs: bool = True
    """REST lists runs."""
    rest_jobs: bool = True
    """REST lists jobs."""
    rest_job_order: bool = True
    """Gitea >= 1.27: job lists take `sort` and `order`."""
    rest_job_logs: bool = True
    """REST downloads a job's log."""
    rest_attempts: bool = True
    """Gitea >= 1.27: attempts of a run have routes, and its object tells the previous one."""
    rest_rerun: bool = True
    """Gitea >= 1.26."""
    rest_cancel: bool = False
    """Gitea after 1.27: `cancel`, `force-cancel`, `approve` and the zip of a run's logs."""
    rest_dispatch: bool = True
    """Dispatch by REST, on Gitea with the list, state and switching of workflow files."""
    rest_workflow_runs: bool = True
    """Gitea >= 1.27: the runs of one workflow file have a route."""
    rest_dispatch_details: str = "gitea"
    """`gitea`: `?return_run_details=true` answers 200; `forgejo`: `return_run_info` answers 201; empty: 204 only."""
    rest_bare_lists: bool = False
    """Forgejo: runner, job, secret and variable lists are bare arrays without totals."""
    rest_variable_created_status: int = 201
    """Status for a created variable."""
    rest_job_search: bool = False
    """Forgejo: `runners/jobs?labels=` for autoscalers."""
    rest_create_runner: bool = False
    """Forgejo: POST runners makes the row without Register."""
    rest_descriptions: bool = True
    """Secrets and variables have descriptions (Forgejo's have none)."""

    @property
    def has_job_summaries(self) -> bool:
        """Whether job summaries are taken and shown: exactly where Declare announces them (Gitea >= 1.27)."""
        return JOB_SUMMARY in self.capabilities_header.split(",")


_GITEA_1_27: Final = Profile(name="gitea-1.27", server_version="1.27.0")

_GITEA_NEXT: Final = replace(
    _GITEA_1_27,
    name="gitea-next",
    server_version="1.28.0+dev",
    dialect=Dialect.C,
    rerun_failed_needs_failure=True,
    rest_cancel=True,
)

_GITEA_1_25: Final = replace(
    _GITEA_1_27,
    name="gitea-1.25",
    server_version="1.25.3",
    has_runner_capabilities=False,
    capabilities_header="",
    has_disabled_runners=False,
    last_online_write_s=0.0,
    last_active_write_s=0.0,
    has_pick_throttle=False,
    claim_retry=False,
    claim_release=False,
    bump_on_finish=False,
    bump_on_runner_toggle=False,
    log_seal=LogSealRule.WITH_ROWS,
    has_cancelling=False,
    run_status=RunStatusRule.GITEA_1_25,
    if_rule=IfRule.RUNNER,
    resolves_after_server_stop=False,
    concurrency=ConcurrencyRule.AUTO_CANCEL,
    auto_cancel_events=("push", "pull_request"),
    rerun_clones_jobs=False,
    rerun_needs_final_run=False,
    attempt_counted_at_claim=True,
    outputs_of_taskless_sibling="skip",
    step_name="first-non-empty",
    triggering_actor=False,
    page_urls=PageUrls.INDEX,
    page_shape="gitea-1.21",
    page_requires_csrf_token=True,
    web_rerun_redirects=False,
    commit_status_wording="old",
    commit_status_reviews=False,
    rest_registration_token_methods=("POST", "GET"),
    rest_runner_patch=False,
    rest_job_order=False,
    rest_attempts=False,
    rest_rerun=False,
    rest_dispatch_details="",
    rest_workflow_runs=False,
)

_GITEA_1_21: Final = replace(
    _GITEA_1_25,
    name="gitea-1.21",
    server_version="1.21.11",
    labels_from_agent_labels=True,
    has_ephemeral=False,
    requires_task_owner=False,
    run_status=RunStatusRule.GITEA_1_21,
    auto_cancel_events=("push",),
    rerun_attempts_max=0,
    merges_siblings=False,
    job_context_is_id=False,
    has_runtime_token=False,
    commit_status_skipped="success",
    set_up_ends_at_any_step=False,
    web_answers_ok=False,
    rest_registration_token_methods=("GET",),
    rest_runners=False,
    rest_runs=False,
    rest_jobs=False,
    rest_job_logs=False,
    rest_dispatch=False,
    rest_variable_created_status=204,
)

_GITEA_1_20: Final = replace(
    _GITEA_1_21,
    name="gitea-1.20",
    server_version="1.20.6",
    has_declare=False,
    has_tasks_version=False,
    run_status=RunStatusRule.GITEA_1_20,
)

_FORGEJO_15: Final = replace(
    _GITEA_1_25,
    name="forgejo-15",
    server_version="15.0.3+gitea-1.22.0",
    family=Family.FORGEJO,
    dialect=Dialect.B,
    has_fetch_single_task=True,
    declare_echoes_ephemeral=True,
    capacity_fetch=True,
    request_key=True,
    registration_token_alphabet="url",
    token_salt_length=22,
    runner_name_cut="bytes",
    empty_runs_on_matches=False,
    runner_without_labels_matches_nothing=True,
    bump_on_final_update=True,
    ephemeral_any_task_blocks=True,
    removes_ephemeral_on_final_update=True,
    abandons_unapproved=False,
    has_offline_runner_cleanup=True,
    transfers_lingering_logs=True,
    run_status=RunStatusRule.FORGEJO,
    concurrency=ConcurrencyRule.FORGEJO,
    attempt_counted_at_claim=False,
    plans_from_needs=True,
    has_handles=True,
    rerun_attempts_max=0,
    forgejo_context=True,
    runtime_token_life_s=24 * 3600.0,
    runtime_token_adds_timeout=False,
    default_actions_url="https://data.forgejo.org",
    token_secret_names=("GITHUB_TOKEN", "GITEA_TOKEN", "FORGEJO_TOKEN"),
    page_urls=PageUrls.ATTEMPT,
    page_shape="forgejo-15",
    page_requires_csrf_token=False,
    log_download_needs_row=False,
    web_approve=False,
    web_rerun_failed=False,
    web_answers_ok=False,
    web_rerun_redirects=True,
    web_dispatch="manual",
    commit_status_skipped="success",
    commit_status_unnamed="empty",
    rest_registration_token_methods=("GET",),
    rest_runs=True,
    rest_jobs=False,
    rest_job_logs=False,
    rest_dispatch_details="forgejo",
    rest_bare_lists=True,
    rest_variable_created_status=204,
    rest_job_search=True,
    rest_create_runner=True,
    rest_descriptions=False,
)

_FORGEJO_11: Final = replace(
    _FORGEJO_15,
    name="forgejo-11",
    server_version="11.0.0+gitea-1.22.0",
    has_fetch_single_task=False,
    has_ephemeral=False,
    declare_echoes_ephemeral=False,
    capacity_fetch=False,
    request_key=False,
    registration_token_alphabet="alnum",
    token_salt_length=10,
    bump_on_final_update=False,
    ephemeral_any_task_blocks=False,
    removes_ephemeral_on_final_update=False,
    transfers_lingering_logs=False,
    concurrency=ConcurrencyRule.AUTO_CANCEL,
    auto_cancel_events=("push",),
    plans_from_needs=False,
    has_handles=False,
    page_urls=PageUrls.INDEX,
    page_shape="forgejo-11",
    page_requires_csrf_token=True,
    web_approve=True,
    web_rerun_redirects=False,
    rest_runners=False,
    rest_runs=False,
    rest_job_search=False,
    rest_create_runner=False,
    rest_dispatch_details="",
)

PROFILES: Final[dict[str, Profile]] = {
    profile.name: profile
    for profile in (
        _GITEA_1_20,
        _GITEA_1_21,
        _GITEA_1_25,
        _GITEA_1_27,
        _GITEA_NEXT,
        _FORGEJO_11,
        _FORGEJO_15,
    )
}
DEFAULT_PROFILE: Final = _GITEA_1_27.name


def profile_named(name: str) -> Profile:
    """Return the profile of this name.

    Raises:
        ValueError: no such profile; the text lists the known ones.
    """
    try:
        return PROFILES[name]
    except KeyError:
        known = ", ".join(PROFILES)
        raise ValueError(f"profile: unknown {name!r}; choose one of {known}") from None
