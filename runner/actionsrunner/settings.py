"""The table of every configuration key: name, kind, default, help, and whether this runner acts on it.

Loading, checking, `generate-config` and docs/runner-settings.md all come from this table. Names and defaults are those
of today's Gitea runner, so its configuration files work unchanged; keys marked ``ours`` are additions.
"""

from typing import Final

from actionsrunner.keys import Key, Kind
from actionsrunner.strategy_keys import STRATEGY_KEYS

__all__ = ["BY_NAME", "FORGEJO_KEYS", "IDLE_SECTIONS", "KEYS", "Key", "Kind"]

_DOCKER: Final = "this runner executes jobs on the host only"
_CACHE: Final = "this runner has no cache server"
_HEALTH: Final = "this runner has no health checks"
_METRICS: Final = "this runner has no metrics endpoint"
_ACTIONS: Final = "this runner does not fetch remote actions"
_LOCAL_LOG: Final = "task logs go to the server only"
_IDLE_CLEANUP: Final = (
    "each job's directory is removed when the job ends, or at the next start of a runner that was killed"
)

KEYS: Final[tuple[Key, ...]] = (
    Key(
        name="log.level",
        kind=Kind.CHOICE,
        default="info",
        choices=("trace", "debug", "info", "warn", "warning", "error", "fatal"),
        help="Least severe record of the runner's own log.",
    ),
    Key(
        name="log.format",
        kind=Kind.CHOICE,
        default="console",
        choices=("console", "json"),
        help="How the runner's own log is written to standard error.",
        ours=True,
    ),
    Key(name="log.job.dir", kind=Kind.TEXT, default="", help="Directory for copies of task logs.", idle=_LOCAL_LOG),
    Key(name="log.job.retention", kind=Kind.DURATION, default="168h", help="Age at which copies go.", idle=_LOCAL_LOG),
    Key(name="log.job.max_size", kind=Kind.SIZE, default="1GB", help="Most that all copies may take.", idle=_LOCAL_LOG),
    Key(
        name="runner.file",
        kind=Kind.TEXT,
        default=".runner",
        help="Where the registration is kept. The environment variable RUNNER_STATE_FILE sets it, too.",
    ),
    Key(
        name="runner.family",
        kind=Kind.CHOICE,
        default="auto",
        choices=("auto", "gitea", "forgejo"),
        help="Family of the server. With auto the runner behaves as Gitea's until the server's answers tell.",
        ours=True,
    ),
    Key(name="runner.capacity", kind=Kind.COUNT, default=1, least=1, most=1000, help="Tasks that may run at once."),
    Key(name="runner.envs", kind=Kind.MAP, default={}, help="Variables that every job gets."),
    Key(
        name="runner.env_file",
        kind=Kind.TEXT,
        default=".env",
        help="File with more of them, NAME=value a line; it wins over the map, and may be missing.",
    ),
    Key(name="runner.timeout", kind=Kind.DURATION, default="3h", least=0.001, help="Longest a job may run."),
    Key(
        name="runner.shutdown_timeout",
        kind=Kind.DURATION,
        default="0s",
        help="How long running jobs may go on after SIGINT or SIGTERM before they are cancelled.",
    ),
    Key(
        name="runner.insecure",
        kind=Kind.FLAG,
        default=False,
        help="Accept any TLS certificate. Better: name your authority's file in SSL_CERT_FILE.",
    ),
    Key(
        name="runner.fetch_timeout",
        kind=Kind.DURATION,
        default="5s",
        least=0.001,
        help="Longest a fetch may take; a value above 60s counts as 60s.",
    ),
    Key(
        name="runner.fetch_interval",
        kind=Kind.DURATION,
        default="2s",
        least=0.001,
        help="Wait after the first empty or failed fetch; it doubles with each further one, spread by 20 %.",
    ),
    Key(
        name="runner.fetch_interval_max",
        kind=Kind.DURATION,
        default="5s",
        help="Most that this wait grows to; raised to fetch_interval when it is below.",
    ),
    Key(
        name="runner.workdir_cleanup_age",
        kind=Kind.DURATION,
        default="24h",
        help="Age at which left-over job directories are removed.",
        idle=_IDLE_CLEANUP,
    ),
    Key(
        name="runner.idle_cleanup_interval",
        kind=Kind.DURATION,
        default="10m",
        help="How often an idle runner looks for them.",
        idle=_IDLE_CLEANUP,
    ),
    Key(
        name="runner.log_report_interval",
        kind=Kind.DURATION,
        default="5s",
        least=0.001,
        help="How often buffered rows are sent.",
    ),
    Key(
        name="runner.log_report_max_latency",
        kind=Kind.DURATION,
        default="3s",
        least=0.001,
        help="Longest a row waits for others.",
    ),
    Key(
        name="runner.log_report_batch_size",
        kind=Kind.COUNT,
        default=100,
        least=1,
        help="So many buffered rows are sent at once.",
    ),
    Key(
        name="runner.state_report_interval",
        kind=Kind.DURATION,
        default="5s",
        least=0.001,
        help="How often the state is sent; a silent job is heard about half as often.",
    ),
    Key(
        name="runner.report_close_timeout",
        kind=Kind.DURATION,
        default="10s",
        least=0.001,
        help="Longest one try of the closing reports takes; each of the two may use three times as long in all.",
    ),
    Key(
        name="runner.labels",
        kind=Kind.LIST,
        default=[],
        help="Labels as name:scheme; empty means those of the registration.",
    ),
    Key(
        name="runner.default_image",
        kind=Kind.TEXT,
        default="docker.gitea.com/runner-images:ubuntu-latest",
        help="Image for labels without one.",
        idle=_DOCKER,
    ),
    Key(
        name="runner.github_mirror",
        kind=Kind.TEXT,
        default="",
        help="Replaces https://github.com for actions.",
        idle=_ACTIONS,
    ),
    Key(name="runner.action_shallow_clone", kind=Kind.FLAG, default=True, help="Clone with depth 1.", idle=_ACTIONS),
    Key(name="runner.set_act_env", kind=Kind.FLAG, default=True, help="Give jobs ACT=true."),
    Key(name="runner.patch_actions", kind=Kind.FLAG, default=True, help="Patch known-bad actions.", idle=_ACTIONS),
    Key(
        name="runner.allocate_pty",
        kind=Kind.FLAG,
        default=False,
        help="Run host steps under a terminal.",
        idle="steps never get a terminal here",
    ),
    Key(
        name="runner.tool_cache_mode",
        kind=Kind.CHOICE,
        default="none",
        choices=("none", "shared"),
        help="Whether jobs share one RUNNER_TOOL_CACHE.",
    ),
    Key(
        name="runner.post_task_script",
        kind=Kind.TEXT,
        default="",
        help="Script after each task, outside the job.",
        idle="not supported yet; use runner.hooks.job_completed",
    ),
    Key(
        name="runner.post_task_script_timeout",
        kind=Kind.DURATION,
        default="5m",
        help="Longest it may run.",
        idle="not supported yet; use runner.hooks.job_completed",
    ),
    Key(name="runner.hooks.job_started", kind=Kind.TEXT, default="", help="Script before a job's first step."),
    Key(name="runner.hooks.job_completed", kind=Kind.TEXT, default="", help="Script after a job's last step."),
    *STRATEGY_KEYS,
    Key(name="cache.enabled", kind=Kind.FLAG, default=True, help="Serve a cache to jobs.", idle=_CACHE),
    Key(name="cache.dir", kind=Kind.TEXT, default="", help="Where the cache is kept.", idle=_CACHE),
    Key(name="cache.host", kind=Kind.TEXT, default="", help="Address that jobs reach it at.", idle=_CACHE),
    Key(name="cache.port", kind=Kind.COUNT, default=0, most=65535, help="Port, 0 for any.", idle=_CACHE),
    Key(name="cache.external_server", kind=Kind.TEXT, default="", help="A cache elsewhere.", idle=_CACHE),
    Key(name="cache.external_secret", kind=Kind.TEXT, default="", help="Its secret.", idle=_CACHE),
    Key(name="cache.external_secret_file", kind=Kind.TEXT, default="", help="File with it.", idle=_CACHE),
    Key(name="cache.offline_mode", kind=Kind.FLAG, default=False, help="Do not refresh cloned actions.", idle=_ACTIONS),
    Key(name="cache.v2", kind=Kind.FLAG, default=True, help="Serve the second cache protocol.", idle=_CACHE),
    Key(name="cache.retention", kind=Kind.DURATION, default="168h", help="Age at which entries go.", idle=_CACHE),
    Key(name="cache.repo_size_limit", kind=Kind.SIZE, default="10GB", help="Limit per repository.", idle=_CACHE),
    Key(name="cache.size_limit", kind=Kind.SIZE, default="0", help="Limit in all, 0 for none.", idle=_CACHE),
    Key(name="cache.sweep_interval", kind=Kind.DURATION, default="1h", help="How often limits act.", idle=_CACHE),
    Key(name="container.network", kind=Kind.TEXT, default="", help="Network of containers.", idle=_DOCKER),
    Key(name="container.network_create_options", kind=Kind.MAP, default={}, help="Options for it.", idle=_DOCKER),
    Key(name="container.network_mode", kind=Kind.TEXT, default="", help="Old name of network.", idle=_DOCKER),
    Key(name="container.privileged", kind=Kind.FLAG, default=False, help="Privileged containers.", idle=_DOCKER),
    Key(name="container.options", kind=Kind.TEXT, default="", help="More options for containers.", idle=_DOCKER),
    Key(name="container.workdir_parent", kind=Kind.TEXT, default="workspace", help="Root inside.", idle=_DOCKER),
    Key(name="container.valid_volumes", kind=Kind.LIST, default=[], help="Mounts jobs may ask for.", idle=_DOCKER),
    Key(name="container.docker_host", kind=Kind.TEXT, default="", help="Address of the daemon.", idle=_DOCKER),
    Key(name="container.require_docker", kind=Kind.FLAG, default=False, help="Fail without it.", idle=_DOCKER),
    Key(name="container.docker_timeout", kind=Kind.DURATION, default="0s", help="Wait for it.", idle=_DOCKER),
    Key(name="container.force_pull", kind=Kind.FLAG, default=False, help="Pull images always.", idle=_DOCKER),
    Key(name="container.force_rebuild", kind=Kind.FLAG, default=False, help="Build images always.", idle=_DOCKER),
    Key(name="container.bind_workdir", kind=Kind.FLAG, default=False, help="Mount the workspace.", idle=_DOCKER),
    Key(
        name="container.service_ready_timeout",
        kind=Kind.DURATION,
        default="5m",
        help="Wait for services.",
        idle=_DOCKER,
    ),
    Key(
        name="host.workdir_parent",
        kind=Kind.TEXT,
        default="~/.cache/act",
        help="Root of the jobs' directories.",
    ),
    Key(name="metrics.enabled", kind=Kind.FLAG, default=False, help="Serve Prometheus metrics.", idle=_METRICS),
    Key(name="metrics.addr", kind=Kind.TEXT, default="127.0.0.1:9101", help="Where.", idle=_METRICS),
    Key(name="metrics.readiness_grace", kind=Kind.DURATION, default="30s", help="Silence allowed.", idle=_METRICS),
)

BY_NAME: Final = {key.name: key for key in KEYS}

IDLE_SECTIONS: Final[dict[str, str]] = {"health_check": _HEALTH}
"""Sections of Gitea's runner that are accepted whole, without effect."""

FORGEJO_KEYS: Final[dict[str, str]] = {
    "log.job_level": "the server gets every row",
    "runner.report_interval": "use runner.log_report_interval and runner.state_report_interval",
    "runner.report_retry": "use runner.report_close_timeout",
    "cache.secret": _CACHE,
    "cache.secret_url": _CACHE,
    "cache.proxy_port": _CACHE,
    "cache.actions_cache_url_override": _CACHE,
    "container.enable_ipv6": _DOCKER,
    "server.connections": "this runner has one server, that of its .runner file",
}
"""Keys of Forgejo's runner that this one knows and does not act on, with what to do instead."""
