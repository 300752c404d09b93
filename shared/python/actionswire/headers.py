"""Header names, the mount prefix and the service paths of the runner protocol.

Source: docs/protocol.md, "Transport".
"""

import functools
from typing import Final

MOUNT_PREFIX: Final = "/api/actions"

PIPELINE_PREFIX: Final = "/api/actions_pipeline/"
"""What jobs get as ACTIONS_RUNTIME_URL, below the instance URL."""
SUMMARY_PATH: Final = PIPELINE_PREFIX + "_apis/pipelines/workflows/{run_id}/jobs/{job_id}/steps/{step_index}/summary"
"""Where the summary of a step is put: a route's pattern, and a format."""

RUNNER_UUID: Final = "x-runner-uuid"
RUNNER_TOKEN: Final = "x-runner-token"
RUNNER_VERSION: Final = "x-runner-version"
"""Sent by runners before mid-2026; every server since Gitea 1.22 ignores it."""
REQUEST_KEY: Final = "x-runner-request-key"
"""Forgejo: names one fetch attempt; honoured on the two fetch methods only."""
CAPABILITIES: Final = "X-Gitea-Actions-Capabilities"
"""Response header of Declare on Gitea >= 1.27."""
JOB_SUMMARY: Final = "job-summary"
"""Server capability in it: the summaries of a job's steps are taken."""
CANCELLING: Final = "cancelling"
"""Client capability: the runner runs post steps after a cancel before it reports."""

CONNECT_PROTOCOL_VERSION: Final = "connect-protocol-version"
CONNECT_TIMEOUT_MS: Final = "connect-timeout-ms"
CONNECT_TIMEOUT_DIGITS_MAX: Final = 10

PING_SERVICE: Final = "ping.v1.PingService"
RUNNER_SERVICE: Final = "runner.v1.RunnerService"

PING: Final = "Ping"
REGISTER: Final = "Register"
DECLARE: Final = "Declare"
FETCH_TASK: Final = "FetchTask"
FETCH_SINGLE_TASK: Final = "FetchSingleTask"
UPDATE_TASK: Final = "UpdateTask"
UPDATE_LOG: Final = "UpdateLog"

RUNNER_METHODS: Final = (REGISTER, DECLARE, FETCH_TASK, FETCH_SINGLE_TASK, UPDATE_TASK, UPDATE_LOG)


@functools.cache
def method_path(service: str, method: str) -> str:
    """Return the path of a method below the instance URL, mount prefix included."""
    return f"{MOUNT_PREFIX}/{service}/{method}"
