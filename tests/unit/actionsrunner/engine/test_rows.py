import pytest

from actionsrunner.engine.rows import Rows, first_line, os_name
from actionswire.result import Result
from enginejob import RecordingSink


def test_step_header_shows_script_shell_and_own_variables() -> None:
    sink = RecordingSink()
    env = {"A": "1", "PATH": "/x", "CI": "x", "GITHUB_X": "x", "RUNNER_X": "x", "B": "one\ntwo"}
    Rows(sink, "gitea").step_header("title", "echo 1\n\necho 2\n", "sh -e {0}", env)
    assert sink.rows == [
        "::group::Run title",
        "echo 1",
        "",
        "echo 2",
        "shell: sh -e {0}",
        "env:",
        "  A: 1",
        "  B: one",
        "    two",
        "::endgroup::",
    ]


def test_step_header_without_variables_has_no_env_row() -> None:
    sink = RecordingSink()
    Rows(sink, "forgejo").step_header("x", "x", "sh", {"CI": "x"})
    assert sink.rows == ["##[group]Run x", "x", "shell: sh", "##[endgroup]"]


def test_error_marks_every_line() -> None:
    sink = RecordingSink()
    Rows(sink, "gitea").error("one\ntwo\udcff")
    assert sink.rows == ["##[error]one", "##[error]two?"]


@pytest.mark.parametrize(
    ("result", "rows"),
    [
        (Result.SUCCESS, ["Job succeeded"]),
        (Result.FAILURE, ["Job failed"]),
        (Result.CANCELLED, ["Job cancelled"]),
        (Result.SKIPPED, []),
    ],
)
def test_closing_says_how_the_job_ended(result: Result, rows: list[str]) -> None:
    sink = RecordingSink()
    Rows(sink, "gitea").closing(result)
    assert sink.rows == rows


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('NAME=x\nPRETTY_NAME="Debian 12"\n', "Debian 12"),
        ("PRETTY_NAME=Alpine", "Alpine"),
        ("", ""),
    ],
)
def test_os_name_reads_the_release_file(text: str, name: str) -> None:
    assert os_name(lambda: text) == name


def test_os_name_without_a_release_file_is_empty() -> None:
    def missing() -> str:
        raise FileNotFoundError

    assert os_name(missing) == ""


def test_first_line_skips_blank_ones() -> None:
    assert first_line("\n  \n  echo x  \ny") == "echo x"
    assert first_line("") == ""
