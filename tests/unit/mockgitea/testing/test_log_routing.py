import logging
from collections.abc import Iterator

import pytest
import structlog

from mockgitea.testing import log_routing


@pytest.fixture(autouse=True)
def fresh_structlog() -> Iterator[None]:
    """Run as in a process that has not configured structlog, and put back whatever there was."""
    was_configured, before = structlog.is_configured(), structlog.get_config()
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()
    if was_configured:
        structlog.configure(**before)


def test_events_go_to_logging_and_not_to_stdout(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    log_routing.begin()
    try:
        with caplog.at_level(logging.INFO):
            structlog.get_logger("mockgitea.test").info("task_fetched", task_id=3, token="hunter2")
    finally:
        log_routing.end()
    [record] = caplog.records
    assert (record.getMessage(), record.name, record.__dict__["task_id"]) == ("task_fetched", "mockgitea.test", 3)
    assert record.__dict__["token"] == "***"
    assert capsys.readouterr().out == ""


def test_configuration_is_put_back_when_the_last_server_is_gone() -> None:
    log_routing.begin()
    log_routing.begin()
    log_routing.end()
    assert structlog.is_configured()
    log_routing.end()
    assert not structlog.is_configured()


def test_configuration_of_the_process_is_left_alone() -> None:
    structlog.configure(processors=[structlog.processors.JSONRenderer()])
    mine = structlog.get_config()
    log_routing.begin()
    assert structlog.get_config() == mine
    log_routing.end()
    assert structlog.get_config() == mine


def test_configuration_that_came_meanwhile_stays() -> None:
    log_routing.begin()
    structlog.configure(processors=[structlog.processors.JSONRenderer()])
    mine = structlog.get_config()
    log_routing.end()
    assert structlog.get_config() == mine
