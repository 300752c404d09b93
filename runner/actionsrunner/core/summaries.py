"""Job summaries: how much of one is kept, and for which job of the server it is. Pure.

Source: docs/protocol.md, "Job summaries".
"""

import base64
import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

SUMMARIES_BYTES_MAX: Final = 1024 * 1024
"""What servers take of all steps of a job together."""
CUT_MARK: Final = "\n\n(cut off here: the summaries of a job may have 1 MiB)\n"


class SummaryPlace(NamedTuple):
    """Whose summaries they are, and the bearer that may write them."""

    run_id: int
    job_id: int
    token: str


def cut(text: str, room: int) -> str:
    """Return as much of ``text`` as fits into ``room`` bytes, with a mark if that is not all; empty without room."""
    data = text.encode("utf-8", "replace")
    if len(data) <= room:
        return text
    kept = room - len(CUT_MARK)
    return data[:kept].decode("utf-8", "ignore") + CUT_MARK if kept > 0 else ""


def summary_place(context: Mapping[str, Any]) -> SummaryPlace | None:
    """Return where a task's summaries go; None when its context does not say.

    The job's number stands only in the claims of the runtime token, which are read and not checked: the server does.
    """
    token = context.get("gitea_runtime_token") or context.get("runtime_token")
    job_id = _claims(token).get("JobID") if isinstance(token, str) else None
    run_id = str(context.get("run_id", ""))
    if not (isinstance(token, str) and isinstance(job_id, int) and run_id.isascii() and run_id.isdigit()):
        return None
    return SummaryPlace(int(run_id), job_id, token)


def _claims(token: str) -> Mapping[str, Any]:
    parts = token.split(".")
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (IndexError, ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}
