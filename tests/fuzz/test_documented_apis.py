"""Schemathesis against the control API's own document, and against REST v1, described here from its table of routes."""

import os
import re
from collections.abc import Callable
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)

from fuzzserver import API_TOKEN, fuzz_server
from mockgitea.core.profiles import profile_named
from mockgitea.transport.rest.shapes import API_PREFIX
from mockgitea.transport.rest.table import routes
from rawhttp import Connection

CONTROL_CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
IS_SHORT = not os.environ.get("FUZZ_EXAMPLES")
EXAMPLES = 2 if IS_SHORT else max(3, int(os.environ["FUZZ_EXAMPLES"]) // 50)
"""Of each operation and kind; there are a hundred of those."""
MODES = (GenerationMode.POSITIVE,) if IS_SHORT else tuple(GenerationMode)
REST_PROFILES = ("gitea-1.27",) if IS_SHORT else ("gitea-1.21", "gitea-1.27", "forgejo-15")
TIMEOUT_S = 20.0
WORKFLOW = "on: [push, workflow_dispatch]\njobs:\n  j:\n    runs-on: linux\n    steps:\n      - run: echo\n"


KNOWN = {"owner": "demo", "repo": "demo", "org": "demo", "workflow_id": "ci.yaml", "name": "NAME"}


def aim(case: Any) -> None:
    """Let most path parameters name something that exists, so that more than 404 is reached."""
    for name, value in list(case.path_parameters.items()):
        if len(str(value)) % 4:
            case.path_parameters[name] = KNOWN.get(name, 1)
    if isinstance(case.body, dict) and isinstance(case.body.get("within_s"), int | float):
        case.body["within_s"] = min(case.body["within_s"], 0.01)  # a wait that is asked for is no hang


def shoot(document: dict[str, Any], check: Callable[[Any], None]) -> None:
    """Draw good and bad calls of every operation and give each to ``check``."""
    schema = schemathesis.openapi.from_dict(document)
    for found in schema.get_all_operations():
        operation = found.ok()
        for mode in MODES:

            @settings(max_examples=EXAMPLES)
            @given(operation.as_strategy(generation_mode=mode))
            def call(case: Any) -> None:
                aim(case)
                check(case)

            try:
                call()
            except Unsatisfiable:
                assert mode is GenerationMode.NEGATIVE, operation.label  # nothing to get wrong in this operation


def test_every_control_operation_keeps_its_document() -> None:
    with fuzz_server() as server:
        server.task()
        url = server.process.ready["control_url"]
        with Connection(server.process.control_host, server.process.control_port) as connection:
            document = connection.request("GET", "/openapi.json").json()
        del document["paths"]["/control/v1/reset"]  # would take away what the others need
        with requests.Session() as session:

            def check(case: Any) -> None:
                case.call_and_validate(url, checks=CONTROL_CHECKS, timeout=TIMEOUT_S, session=session)
                assert server.harm() == []

            shoot(document, check)
        server.mock.control("POST", "/reset")  # faults that the run added would hold the questions
        server.check()


def rest_document(profile: str) -> dict[str, Any]:
    """Describe REST v1 as far as a fuzzer needs it: which paths and verbs there are, and that bodies are JSON."""
    body = {
        "type": "object",
        "properties": {
            "ref": {"enum": ["main", "refs/heads/main", "x"]}, "inputs": {"type": "object"}, "data": {"type": "string"},
            "value": {"type": "string"}, "name": {"type": "string"}, "description": {"type": "string"},
            "disabled": {"type": "boolean"}, "labels": {"type": "array", "items": {"type": "string"}},
            "ephemeral": {"type": "boolean"}, "return_run_info": {"type": "boolean"},
        },
    }  # fmt: skip
    queries = ["page", "limit", "status", "event", "branch", "actor", "head_sha", "labels", "run_number", "visible"]
    query = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in queries]
    paths: dict[str, Any] = {}
    for route in routes(profile_named(profile)):
        for kind in route.kinds[:1] if IS_SHORT else route.kinds:
            path = f"{API_PREFIX}{'' if route.is_whole_path else kind.value}{route.path}"
            variables = [
                {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                for name in re.findall(r"{(\w+)}", path)
            ]
            operation: dict[str, Any] = {"parameters": variables + query, "responses": {"200": {"description": "ok"}}}
            if route.verb not in ("GET", "DELETE"):
                operation["requestBody"] = {"content": {"application/json": {"schema": body}}}
            paths.setdefault(path, {})[route.verb.lower()] = operation
    return {
        "openapi": "3.1.0", "info": {"title": "REST v1", "version": "1"}, "paths": paths,
    }  # fmt: skip


@pytest.mark.parametrize("profile", REST_PROFILES)
def test_every_rest_operation_is_answered(profile: str) -> None:
    with fuzz_server(profile) as server, requests.Session() as session:
        server.mock.enqueue(WORKFLOW)
        server.task()
        url = server.process.ready["runner_url"]
        headers = {"Authorization": f"token {API_TOKEN}"}

        def check(case: Any) -> None:
            reply = case.call(url, headers=headers, timeout=TIMEOUT_S, session=session)
            assert reply.status_code < 500, (reply.status_code, reply.text)
            assert server.harm() == []

        shoot(rest_document(profile), check)
        server.check()
