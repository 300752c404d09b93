"""The runner's own log."""

import json

import pytest
import structlog

from actionsrunner.logs import set_up_logs


@pytest.fixture(autouse=True)
def _restore() -> object:
    yield
    structlog.reset_defaults()


def crash(token: str) -> None:
    raise RuntimeError(f"bug of length {len(token)}")


@pytest.mark.parametrize("form", ["console", "json"])
def test_traceback_shows_no_local_variables(capsys: pytest.CaptureFixture[str], form: str) -> None:
    set_up_logs(level="info", form=form)
    try:
        crash("s3cr" + "et")
    except RuntimeError:
        structlog.get_logger("x").exception("job_crashed", task_id=7)
    text = capsys.readouterr().err
    assert "job_crashed" in text
    assert "bug of length 6" in text
    assert "s3cret" not in text


def test_json_records_have_level_time_and_fields(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs(level="warn", form="json")
    log = structlog.get_logger("x")
    log.info("quiet")
    log.warning("config", detail="d")
    record = json.loads(capsys.readouterr().err)
    assert record.pop("timestamp").endswith("Z")
    assert record == {"event": "config", "level": "warning", "detail": "d"}


@pytest.mark.parametrize("level", ["trace", "debug", "info", "warn", "warning", "error", "fatal"])
def test_every_level_of_the_settings_is_known(level: str) -> None:
    set_up_logs(level=level, form="console")
