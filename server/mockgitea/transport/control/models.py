"""Request bodies of the control API: strict models with bounds, so that a wrong call is told which field is wrong.

Every model refuses unknown fields. Answers are described in `answers`.
"""

import json
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from mockgitea.core.errors import InvalidInput

ID_MAX: Final = 2**63 - 1
"""The largest number that SQLite stores as an integer."""
NAME_LENGTH_MAX: Final = 255
TEXT_LENGTH_MAX: Final = 1024 * 1024
LIST_LENGTH_MAX: Final = 256
SECONDS_MAX: Final = 10 * 366 * 24 * 3600.0

Name = Annotated[str, Field(min_length=1, max_length=NAME_LENGTH_MAX)]
RepositoryName = Annotated[
    str,
    Field(
        min_length=3,
        max_length=2 * NAME_LENGTH_MAX + 1,
        pattern=r"^[^/\s]+/[^/\s]+$",
        description="A repository as `owner/name`.",
        examples=["demo/demo"],
    ),
]
Scalar = str | bool | int | float


class Strict(BaseModel):
    """Base of every request body: exact types, no unknown fields, no NaN, no text that UTF-8 cannot hold."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _refuse_broken_text(cls, data: Any) -> Any:
        """Refuse half of a surrogate pair, which JSON can spell and no file or database can hold."""
        for name, value in data.items() if isinstance(data, dict) else ():
            try:
                json.dumps([name, value], ensure_ascii=False).encode()
            except UnicodeEncodeError as error:
                raise InvalidInput(
                    f"{name}: holds half of a surrogate pair; send whole characters", field=name
                ) from error
        return data


class Scope(Strict):
    """Whom something belongs to: one repository, one owner, or (both absent) the whole server."""

    owner: Name | None = Field(default=None, description="Name of a user or organization.")
    repository: RepositoryName | None = None


class NewRepository(Strict):
    """A repository to create; an existing one of that name is returned as it is."""

    owner: Name
    name: Name
    kind: Literal["user", "org"] = Field(default="user", description="What the owner is, if it is new.")


class Enqueue(Strict):
    """A workflow file and the event that triggers it."""

    repository: RepositoryName
    workflow_file: Name = Field(default="workflow.yml", description="File name under which the run is shown.")
    workflow: str | None = Field(
        default=None,
        max_length=TEXT_LENGTH_MAX,
        description="The workflow as YAML text. Absent: the file of this name that the repository already has.",
    )
    event: str = Field(
        default="",
        max_length=NAME_LENGTH_MAX,
        description="Event name, such as `workflow_dispatch`; default: `push` if the file has it, else its first.",
    )
    event_payload: dict[str, Any] | None = Field(
        default=None, description="What `github.event` holds; a small plausible one is made when absent."
    )
    ref: str | None = Field(default=None, max_length=NAME_LENGTH_MAX, examples=["refs/heads/main"])
    sha: str | None = Field(default=None, pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$")
    base_ref: str = Field(default="", max_length=NAME_LENGTH_MAX, description="Pull requests: target branch.")
    head_ref: str = Field(default="", max_length=NAME_LENGTH_MAX, description="Pull requests: source branch.")
    inputs: dict[str, Scalar] = Field(default_factory=dict, max_length=LIST_LENGTH_MAX)
    secrets: dict[str, str] = Field(
        default_factory=dict, max_length=LIST_LENGTH_MAX, description="Stored for the repository before the run starts."
    )
    vars: dict[str, str] = Field(
        default_factory=dict, max_length=LIST_LENGTH_MAX, description="Stored for the repository before the run starts."
    )
    actor: str = Field(default="", max_length=NAME_LENGTH_MAX, description="Who triggered it; default: the owner.")
    title: str = Field(default="", max_length=NAME_LENGTH_MAX, description="Title of the run; default: a commit title.")
    fork_pull_request: bool = Field(default=False, description="The run comes from a fork: no secrets but the token.")
    needs_approval: bool = Field(default=False, description="The run stays blocked until it is approved.")
    create_repository: bool = Field(default=False, description="Create the repository first when it does not exist.")


class Cancel(Strict):
    """How to cancel a run."""

    force: bool = Field(default=False, description="End running tasks at once, without the cancelling state.")


class Rerun(Strict):
    """What to run again: everything, the failed jobs, or one job. At most one of the two fields."""

    job_id: int | None = Field(default=None, ge=1, le=ID_MAX, description="Number of a job of the run.")
    failed_only: bool = False
    actor: str = Field(default="", max_length=NAME_LENGTH_MAX, description="Who asks; default: the run's actor.")


class NewRunner(Strict):
    """A runner to create without the Register call."""

    name: Name
    labels: list[Name] = Field(
        default_factory=list, max_length=LIST_LENGTH_MAX, description="Plain label names, such as `ubuntu-latest`."
    )
    scope: Scope = Field(default_factory=Scope)
    ephemeral: bool = Field(default=False, description="The runner gets one task and is then removed.")
    description: str = Field(default="", max_length=NAME_LENGTH_MAX)


class RunnerChange(Strict):
    """What to change of a runner; absent fields stay."""

    disabled: bool | None = Field(default=None, description="A disabled runner polls but gets no task.")
    description: str | None = Field(default=None, max_length=NAME_LENGTH_MAX)


class TokenRequest(Strict):
    """Which registration token to show."""

    scope: Scope = Field(default_factory=Scope)
    reset: bool = Field(default=False, description="Make a new token; the scope's older ones stop working.")


class StoredValue(Strict):
    """The value of a secret or variable."""

    value: str = Field(max_length=65_536)
    description: str = Field(default="", max_length=32_768)


class Jump(Strict):
    """How far to move the clock."""

    seconds: float = Field(ge=0, le=SECONDS_MAX, description="Seconds to move forward.")


class Age(Strict):
    """How much older to make a task."""

    seconds: float = Field(gt=0, le=SECONDS_MAX, description="Seconds by which the task's times move into the past.")


class SettingsChange(Strict):
    """Settings that may change while the server runs; absent ones stay."""

    max_concurrent_task_picks: int | None = Field(
        default=None,
        ge=0,
        le=100_000,
        description="Look-ups of FetchTask at once before it is throttled, where the profile does; 0: every one is.",
    )
