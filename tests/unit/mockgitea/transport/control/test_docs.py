"""docs/control-api.md and the routes cannot drift apart."""

import re
from collections.abc import Callable
from pathlib import Path

from controlapi import Api

DOCS = Path(__file__).parents[5] / "docs"


def test_control_api_document_lists_exactly_the_routes(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        text = (DOCS / "control-api.md").read_text()
        documented = re.findall(r"^\| `([A-Z]+ /control/v1/[^`]+)` \|", text, flags=re.MULTILINE)
        routes = {f"{verb.upper()} {path}" for path, verbs in api.app.openapi()["paths"].items() for verb in verbs}
        assert len(documented) == len(set(documented)), "a route is documented twice"
        assert set(documented) == routes

    with_api(body)


def test_control_api_document_names_every_field_of_enqueue(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        text = (DOCS / "control-api.md").read_text()
        fields = api.app.openapi()["components"]["schemas"]["Enqueue"]["properties"]
        missing = [field for field in fields if f"`{field}`" not in text]
        assert not missing

    with_api(body)
