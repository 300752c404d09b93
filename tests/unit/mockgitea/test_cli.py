import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from mockgitea import __version__, cli


def test_version_says_that_it_is_a_mock(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.strip() == f"mockgitea {__version__} (a mock, not Gitea)"


def test_without_command_the_help_is_shown_and_the_exit_code_is_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 2
    shown = capsys.readouterr().out
    assert all(name in shown for name in cli.COMMANDS)


def test_help_names_every_command_without_importing_any(capsys: pytest.CaptureFixture[str]) -> None:
    before = set(sys.modules)
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    shown = capsys.readouterr().out
    assert all(name in shown for name in cli.COMMANDS)
    assert not {name for name in set(sys.modules) - before if name.startswith("mockgitea.commands")}


@pytest.mark.parametrize("command", sorted(cli.COMMANDS))
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main([command, "--help"])
    assert caught.value.code == 0
    assert f"mockgitea {command}" in capsys.readouterr().out


def test_an_unknown_command_is_refused_with_exit_code_two(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["server"])
    assert caught.value.code == 2
    assert "serve" in capsys.readouterr().err


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    """`serve` configures logging for its process; later tests must not write to this test's streams."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.environ", {})


@pytest.mark.usefixtures("clean_environment")
def test_serve_prints_its_settings_with_secrets_masked(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["serve", "--api-token", "hunter2", "--port", "0", "--print-config"]) == 0
    shown = capsys.readouterr().out
    assert json.loads(shown)["port"] == 0
    assert json.loads(shown)["api_token"] == "***"


@pytest.mark.usefixtures("clean_environment")
@pytest.mark.parametrize(
    "arguments",
    [["--port", "x"], ["--tls-cert", "c"], ["--config", "nowhere.toml"], ["--tls-cert", "c", "--tls-key", "k"]],
)
def test_serve_with_wrong_settings_says_which_and_exits_with_two(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["serve", "--port", "0", "--control-port", "0", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("mockgitea: error: ")
    assert arguments[0].removeprefix("--").replace("-", "_") in error or "tls_key" in error
    assert "Traceback" not in error


def test_serve_help_has_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    from mockgitea.settings import flag_name, table  # noqa: PLC0415 - after the check that --help imports nothing

    with pytest.raises(SystemExit):
        cli.main(["serve", "--help"])
    shown = capsys.readouterr().out
    assert not [name for name in table() if flag_name(name) not in shown]


def test_serve_refuses_a_database_that_is_no_database(tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    file.write_text("this is no database, and never was one, whatever its name says\n" * 40)
    command = [sys.executable, "-m", "mockgitea", "serve", "--port", "0", "--control-port", "0"]
    done = subprocess.run([*command, "--database", str(file)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "database" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("place", ["nowhere/ready.json", "."])
def test_serve_refuses_a_ready_file_that_cannot_be_written(tmp_path: Path, place: str) -> None:
    command = [sys.executable, "-m", "mockgitea", "serve", "--port", "0", "--control-port", "0", "--ready-file", place]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path)
    assert done.returncode == 2
    assert "mockgitea: error: ready_file: cannot write" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
