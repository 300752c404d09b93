"""Asking a person, and refusing what no server could accept."""

from collections.abc import Callable
from pathlib import Path

import pytest

from actionsrunner.commands.register import (
    LABELS_DEFAULT,
    Incomplete,
    _ask,
    check_request,
    registration_path,
    split_labels,
    unattended_request,
)
from actionsrunner.config import load_config, parse_config
from actionsrunner.environment import Environment
from actionsrunner.loops.registering import RegistrationRequest

EMPTY = RegistrationRequest(instance="", token="", name="host", labels=LABELS_DEFAULT)


def answers(*texts: str) -> Callable[[str], str]:
    queue = list(texts)

    def answer(question: str) -> str:
        if not queue:
            raise EOFError
        return queue.pop(0)

    return answer


def test_person_is_asked_for_what_is_missing(tmp_path: Path) -> None:
    request = _ask(EMPTY, tmp_path / ".runner", answers("http://x ", " tok ", "", "a, b:host,"))
    assert (request.instance, request.token, request.name) == ("http://x", "tok", "host")
    assert request.labels == ("a", "b:host")


def test_existing_file_is_kept_unless_the_person_says_yes(tmp_path: Path) -> None:
    path = tmp_path / ".runner"
    path.write_text("{}")
    with pytest.raises(Incomplete, match="left as it is"):
        _ask(EMPTY, path, answers(""))
    assert _ask(EMPTY, path, answers("y", "http://x", "t", "n", "")).labels == LABELS_DEFAULT


def test_nobody_to_ask_is_explained(tmp_path: Path) -> None:
    with pytest.raises(Incomplete, match="--no-interactive"):
        _ask(EMPTY, tmp_path / ".runner", answers("http://x"))


@pytest.mark.parametrize("instance", ["", "git.example.com", "ftp://x", "http://"])
def test_instance_must_be_a_web_address(instance: str) -> None:
    request = RegistrationRequest(instance=instance, token="t", name="n", labels=())
    with pytest.raises(Incomplete, match="--instance"):
        check_request(request)


def test_labels_of_the_configuration_beat_the_environment() -> None:
    environment = Environment(instance="http://x", token="t", labels="e")
    assert unattended_request(parse_config("runner: {labels: [c]}", "x"), environment).labels == ("c",)
    assert unattended_request(load_config(None), environment).labels == ("e",)
    assert unattended_request(load_config(None), Environment()).labels == LABELS_DEFAULT


def test_state_file_variable_counts_unless_the_configuration_names_one() -> None:
    environment = Environment(state_file="/data/state")
    assert registration_path(load_config(None), environment) == Path("/data/state")
    assert registration_path(parse_config("runner: {file: f}", "x"), environment) == Path("f")
    assert registration_path(load_config(None), Environment()) == Path(".runner")


def test_empty_labels_of_a_list_are_left_out() -> None:
    assert split_labels(" a ,,b:host, ") == ("a", "b:host")
    assert split_labels("") == ()
