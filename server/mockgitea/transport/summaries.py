"""PUT of a step's summary, as a runner sends it after its job: beside the artifact service, with plain-text errors.

Source: docs/protocol.md, "Job summaries".
"""

from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from actionswire.headers import SUMMARY_PATH
from mockgitea.core.errors import InvalidInput
from mockgitea.core.job_summary import check_size
from mockgitea.service.summaries import Summary
from mockgitea.transport.bounded import read_checked
from mockgitea.transport.page_target import NUMBER_DIGITS_MAX, is_number
from mockgitea.transport.web_answers import json_response, refusing

if TYPE_CHECKING:
    from mockgitea.service.container import Services


def build_summaries(services: "Services") -> APIRouter:
    """Build the router; it is empty where the profile knows no job summaries."""
    router = APIRouter(include_in_schema=False)

    async def put(request: Request) -> Response:
        summary = Summary(
            run_id=_number(request, "run_id"),
            job_id=_number(request, "job_id"),
            step=_number(request, "step_index"),
            content_type=request.headers.get("content-type", ""),
            body=await read_checked(request, check_size),
        )
        attempt_id = await services.summaries.put(request.headers.get("authorization", ""), summary)
        message = "success" if summary.body else "cleared"
        return json_response({"message": message, "sizeBytes": len(summary.body), "runAttempt": attempt_id})

    if services.profile.has_job_summaries:
        router.add_route(SUMMARY_PATH, refusing(put), ["PUT"])
    return router


def _number(request: Request, name: str) -> int:
    text: str = request.path_params[name]
    if not is_number(text):
        raise InvalidInput(f"{name}: must be a number, got {text[:NUMBER_DIGITS_MAX]!r}", field=name)
    return int(text)
