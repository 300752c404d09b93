"""Job summaries: who may write one, and where it goes.

Knows no HTTP; the rendering is the page's.
Source: docs/protocol.md, "Job summaries".
"""

from typing import Final, NamedTuple

import jwt

from actionswire.result import Status
from mockgitea.clock import SECOND_US
from mockgitea.core.errors import BadAuthorization, ServerFault
from mockgitea.core.job_summary import check_place, check_size, check_type
from mockgitea.service.assignment import SIGNATURE
from mockgitea.storage import summaries, task_tokens
from mockgitea.storage.interface import Store, Tx
from mockgitea.storage.signing import signing_secret
from mockgitea.storage.task_tokens import TaskPlace

_BEARER: Final = "bearer "
_TOKEN_MAX: Final = 4096


class Summary(NamedTuple):
    """One request: the numbers of its address, and what it carries."""

    run_id: int
    job_id: int
    step: int
    content_type: str
    body: bytes


class Summaries:
    """Takes the summaries of running tasks.

    Args:
        store: where tasks and summaries live.
    """

    def __init__(self, *, store: Store) -> None:
        self._store = store

    async def put(self, authorization: str, summary: Summary) -> int:
        """Store the summary of a step, or clear it when it is empty.

        Args:
            authorization: the header; a runtime token or a task's own token, as bearer.
            summary: what to store where.

        Returns:
            The row id of the run's attempt.

        Raises:
            BadAuthorization: no bearer token.
            ServerFault: a token that is not valid, or whose task does not run.
            InvalidInput: another run, job or step than the token's, another type, or too large.
        """
        if not authorization.lower().startswith(_BEARER):
            raise BadAuthorization
        token = authorization[len(_BEARER) :].strip()
        return await self._store.write(lambda tx: self._put(tx, token, summary))

    def _put(self, tx: Tx, token: str, summary: Summary) -> int:
        place = _place_of(tx, token) if len(token) <= _TOKEN_MAX else None
        if place is None:
            raise ServerFault("Error runner api getting task")  # 500, as from a real server
        steps = task_tokens.step_numbers(tx.conn, place.task_id)
        check_place(
            run=(summary.run_id, place.run_id), job=(summary.job_id, place.job_id), step=summary.step, steps=steps
        )
        check_type(summary.content_type)
        others = summaries.size_beside(tx.conn, job_id=place.job_id, step=summary.step)
        check_size(len(summary.body), others=others)
        summaries.put(tx, run_id=place.run_id, job_id=place.job_id, step=summary.step, body=summary.body)
        return place.attempt_id


def _place_of(tx: Tx, token: str) -> TaskPlace | None:
    if token.count(".") == 2:
        place = _of_claims(tx, token)
        return place if place is not None and place.status is Status.RUNNING else None
    # The plain token goes on working while a task is being cancelled; the signed one does not.
    place = task_tokens.by_token(tx.conn, token)
    return place if place is not None and place.status in (Status.RUNNING, Status.CANCELLING) else None


def _of_claims(tx: Tx, token: str) -> TaskPlace | None:
    secret = signing_secret(tx.conn)
    if secret is None:
        return None
    # Times are judged by the server's clock, which can be moved.
    unchecked = {"verify_exp": False, "verify_nbf": False, "verify_iat": False}
    try:
        claims = jwt.decode(token, secret, algorithms=[SIGNATURE], options=unchecked)  # type: ignore[arg-type]  # a mapping
    except jwt.InvalidTokenError:
        return None
    if not claims["nbf"] <= tx.now_us / SECOND_US < claims["exp"]:
        return None
    return task_tokens.by_id(tx.conn, claims["TaskID"])
