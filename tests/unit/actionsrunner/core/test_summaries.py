"""Cutting a summary, and reading from a task's context where it goes."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actionsrunner.core.summaries import CUT_MARK, SummaryPlace, cut, summary_place


def token(claims: object) -> str:
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{body}.sig"


@given(st.text(max_size=200), st.integers(-5, 300))
def test_cut_text_fits_and_is_a_beginning(text: str, room: int) -> None:
    kept = cut(text, room)
    assert len(kept.encode("utf-8", "replace")) <= max(room, 0)
    assert kept in ("", text) or (kept.endswith(CUT_MARK) and text.startswith(kept.removesuffix(CUT_MARK)))


@pytest.mark.parametrize("name", ["gitea_runtime_token", "runtime_token"])
def test_place_is_read_from_run_id_and_claims(name: str) -> None:
    signed = token({"JobID": 7})
    assert summary_place({name: signed, "run_id": "3"}) == SummaryPlace(3, 7, signed)


@pytest.mark.parametrize(
    "context",
    [
        {},
        {"run_id": "3"},
        {"run_id": "3", "gitea_runtime_token": 5},
        {"run_id": "3", "gitea_runtime_token": "plain"},
        {"run_id": "3", "gitea_runtime_token": "a.b.c"},
        {"run_id": "3", "gitea_runtime_token": "a.\N{SNOWMAN}.c"},
        {"run_id": "3", "gitea_runtime_token": token([1])},
        {"run_id": "3", "gitea_runtime_token": token({"JobID": "7"})},
        {"run_id": "3", "gitea_runtime_token": token({})},
        {"run_id": "3/../4", "gitea_runtime_token": token({"JobID": 7})},
        {"gitea_runtime_token": token({"JobID": 7})},
    ],
)
def test_context_without_a_place_has_none(context: dict[str, Any]) -> None:
    assert summary_place(context) is None
