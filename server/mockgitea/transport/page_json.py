"""The polling endpoint without HTTP: reading the request's cursors strictly, and building the answer's bytes.

Source: docs/protocol.md, "Page".
"""

from collections.abc import Sequence
from typing import Any, Final

import orjson
from sqlalchemy import Connection

from mockgitea.core.errors import InvalidInput
from mockgitea.core.page_rows import page_lines
from mockgitea.core.page_shapes import JobView, Json, expired_log, page_answer, step_log
from mockgitea.core.profiles import Profile
from mockgitea.core.slicing import Cursor, NoSuchStep, StepSlice, shown_steps, step_at, window
from mockgitea.storage.logs import read_rows
from mockgitea.storage.page_queries import TaskRecord
from mockgitea.transport.page_target import PageFailure, Target

CURSORS_MAX: Final = 10_000
"""Entries of one request; a page sends one per step."""
_INT64_MAX: Final = (1 << 63) - 1


def parse_cursors(body: bytes) -> tuple[Cursor, ...]:
    """Read the body of a poll: ``{"logCursors": [{"step": 0, "cursor": null, "expanded": true}]}``.

    An absent list, or an absent or null field, reads as empty, 0 or false, as on a real server. Unknown fields are
    ignored.

    Raises:
        InvalidInput: not JSON, or something of the wrong type; the message names it.
    """
    if not body.strip():
        return ()
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"body: not valid JSON ({error}); send an object such as {{}}", field="body") from error
    if not isinstance(request, dict):
        raise InvalidInput('body: must be an object such as {"logCursors": []}', field="body")
    entries = request.get("logCursors")
    if entries is None:
        return ()
    if not isinstance(entries, list):
        raise InvalidInput("logCursors: must be a list", field="logCursors")
    if len(entries) > CURSORS_MAX:
        raise InvalidInput(f"logCursors: at most {CURSORS_MAX} entries, got {len(entries)}", field="logCursors")
    return tuple(_cursor(place, entry) for place, entry in enumerate(entries))


def answer(conn: Connection, profile: Profile, target: Target, cursors: Sequence[Cursor]) -> bytes:
    """Return the JSON body for this target.

    Raises:
        PageFailure: an expanded cursor names a step that is not there.
    """
    job = None if target.job is None else job_view(conn, profile, target, cursors)
    return orjson.dumps(page_answer(profile, target.view, job))


def job_view(conn: Connection, profile: Profile, target: Target, cursors: Sequence[Cursor]) -> JobView:
    """Return the job of a target with its steps, and the rows that the cursors ask for.

    Raises:
        PageFailure: an expanded cursor names a step that is not there.
    """
    assert target.job is not None, "a target of a job page"
    if target.task is None:
        return JobView(job=target.job)
    steps = shown_steps(target.task.log, target.task.steps, set_up_ends_at_any_step=profile.set_up_ends_at_any_step)
    return JobView(job=target.job, steps=steps, logs=_logs(conn, target.task, steps, cursors), tasks=target.tasks)


def _logs(conn: Connection, task: TaskRecord, steps: Sequence[StepSlice], cursors: Sequence[Cursor]) -> list[Json]:
    logs = []
    for cursor in cursors:
        if not cursor.expanded:
            continue
        try:
            step = step_at(steps, cursor.step)
        except NoSuchStep as error:
            raise PageFailure(str(error)) from error
        if not task.row["is_log_expired"]:
            logs.append(_rows(conn, task, step, cursor))
        elif cursor.cursor == 0:
            logs.append(expired_log(cursor.step, step, task.row["updated_us"]))
    return logs


def _rows(conn: Connection, task: TaskRecord, step: StepSlice, cursor: Cursor) -> Json:
    wanted = window(step, cursor.cursor, task.log.log_rows)
    lines: list[Json] = []
    if wanted.count:
        lines = page_lines(read_rows(conn, task.row["id"], wanted.first, wanted.count), cursor.cursor + 1)
    return step_log(cursor.step, step, cursor.cursor, lines)


def _cursor(place: int, entry: object) -> Cursor:
    if not isinstance(entry, dict):
        raise InvalidInput(f'logCursors[{place}]: must be an object such as {{"step": 0}}', field="logCursors")
    return Cursor(
        step=_integer(entry, "step", place),
        cursor=_integer(entry, "cursor", place),
        expanded=_boolean(entry, "expanded", place),
    )


def _integer(entry: dict[str, Any], name: str, place: int) -> int:
    value = entry.get(name)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _INT64_MAX:
        raise InvalidInput(f"logCursors[{place}].{name}: must be a whole number or null", field=f"logCursors.{name}")
    return value


def _boolean(entry: dict[str, Any], name: str, place: int) -> bool:
    value = entry.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise InvalidInput(f"logCursors[{place}].{name}: must be true or false", field=f"logCursors.{name}")
    return value
