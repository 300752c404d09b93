"""One recorded call as expectations, audits, exports and replay see it: typed fields and plain messages.

Made from the JSON form of a journal entry, so calls read in process, over the control API or from an exported file are
the same values. Knows no journal and no transport. Source: docs/testing.md, "What a recorded call holds".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from mockgitea.core.calls import Method, Outcome
from mockgitea.core.plain_messages import Message, plain_request, plain_response

EPOCH: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
_FETCHES: Final = (Method.FETCH_TASK, Method.FETCH_SINGLE_TASK)
_ANSWERED: Final = (Outcome.OK, Outcome.TASK, Outcome.EMPTY)
_UUID_HEADER: Final = "x-runner-uuid"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """A call. ``at_us`` is the server's clock; ``opened_s`` is monotonic and only good for differences."""

    number: int
    at_us: int = 0
    opened_s: float = 0.0
    duration_s: float | None = None
    """None while the call is open."""
    closed_after: int = 0
    """Number of the newest call that had begun when this one closed; 0 while it is open."""
    transport: str = "http"
    peer: str = ""
    verb: str = ""
    path: str = ""
    method: str = ""
    runner_uuid: str = ""
    runner: str = ""
    """The runner's name; empty when nobody proved who they are."""
    outcome: str = ""
    status: int = 0
    code: str = ""
    fault: str = ""
    """Names of the faults that acted, with a comma and a space between them; empty when there was none."""
    headers: Mapping[str, str]
    request: Message | None = None
    response: Message | None = None

    @classmethod
    def from_view(cls, view: Mapping[str, Any], names: Mapping[str, str]) -> "CallRecord":
        """Read one entry of the journal.

        Args:
            view: as `GET /control/v1/journal` and exported files show it.
            names: runner UUID to name.

        Raises:
            ValueError: it is no entry; the text names the field.
        """
        try:
            method = str(view["method"])
            return cls(
                number=int(view["number"]),
                at_us=(datetime.fromisoformat(view["at"]) - EPOCH) // timedelta(microseconds=1) if view["at"] else 0,
                opened_s=float(view.get("opened_s", 0.0)),
                duration_s=view["duration_s"],
                closed_after=int(view.get("closed_after") or (view["number"] if view["duration_s"] is not None else 0)),
                transport=view["transport"],
                peer=view.get("peer", ""),
                verb=view["verb"],
                path=view["path"],
                method=method,
                runner_uuid=view["runner_uuid"],
                runner=names.get(view["runner_uuid"], ""),
                outcome=view["outcome"],
                status=int(view["status"]),
                code=view["code"],
                fault=view["fault"],
                headers=view.get("headers", {}),
                request=plain_request(method, view["request"]),
                response=plain_response(method, view["response"]),
            )
        except KeyError as error:
            raise ValueError(f"{error.args[0]}: missing; this is no journal entry") from error
        except (TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"entry {view.get('number', '?')}: {error}; this is no journal entry") from error

    @property
    def is_open(self) -> bool:
        """True while the call has no answer yet."""
        return self.outcome == Outcome.OPEN

    @property
    def is_answered(self) -> bool:
        """True when the caller certainly got the server's own good answer: no error, no fault, not given up."""
        return self.outcome in _ANSWERED and not self.fault

    @property
    def faults(self) -> tuple[str, ...]:
        """Names of the faults that acted; one empty name when there was none."""
        return tuple(self.fault.split(", "))

    @property
    def is_fetch(self) -> bool:
        """True for the two methods that ask for work."""
        return self.method in _FETCHES

    @property
    def claimed_uuid(self) -> str:
        """Whom the caller said to be, proven or not."""
        return self.runner_uuid or self.headers.get(_UUID_HEADER, "")

    @property
    def tasks(self) -> tuple[int, ...]:
        """Ids of the tasks that the call is about: reported on, or handed out by the answer."""
        request, response = self.request or {}, self.response or {}
        if self.method == Method.UPDATE_LOG:
            return (request["task_id"],) if "task_id" in request else ()
        if self.method == Method.UPDATE_TASK:
            return (request["state"]["id"],) if request.get("state") else ()
        if self.is_fetch and "code" not in response:
            given = [response.get("task"), *response.get("additional_tasks", ())]
            return tuple(task["id"] for task in given if task)
        return ()

    def began_after(self, other: "CallRecord") -> bool:
        """Tell whether ``other`` was over before this call began; holds whatever the clock was made to do."""
        return 0 < other.closed_after < self.number


def introduced(call: CallRecord) -> tuple[str, str]:
    """Return UUID and name of the runner that a Register or Declare introduced, empty texts for any other call."""
    runner = (call.response or {}).get("runner") if call.method in (Method.REGISTER, Method.DECLARE) else None
    return (str(runner.get("uuid", "")), str(runner.get("name", ""))) if runner else ("", "")
