import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from mockgitea.observe import logs


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


def test_json_lines_hold_event_level_time_and_fields(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("json", "info")
    structlog.get_logger("x").info("task_fetched", task_id=9)
    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["level"], line["task_id"]) == ("task_fetched", "info", 9)
    assert line["timestamp"].endswith("Z")


def test_fields_named_like_secrets_are_masked(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("json", "info")
    structlog.get_logger("x").info("e", api_token="hunter2", Authorization="hunter2", tasks_version=3, empty_secret="")
    line = json.loads(capsys.readouterr().err)
    assert (line["api_token"], line["Authorization"], line["tasks_version"]) == ("***", "***", 3)


def test_events_below_the_level_are_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("json", "warning")
    structlog.get_logger("x").info("quiet")
    assert capsys.readouterr().err == ""


def test_console_lines_are_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("console", "info")
    structlog.get_logger("x").info("server_started", profile="gitea-1.27")
    line = capsys.readouterr().err
    assert "server_started" in line
    assert "profile=gitea-1.27" in line


def test_exceptions_are_shown_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("json", "info")
    try:
        {}["x"]
    except KeyError:
        structlog.get_logger("x").exception("call_failed")
    assert "KeyError" in json.loads(capsys.readouterr().err)["exception"]


def test_warnings_of_libraries_take_the_same_form(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("json", "info")
    logging.getLogger("uvicorn.error").info("chatter")
    logging.getLogger("uvicorn.error").warning("trouble %d", 1)
    lines = capsys.readouterr().err.splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["trouble 1"]
