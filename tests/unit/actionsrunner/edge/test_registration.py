"""The `.runner` file."""

import json
import stat
from pathlib import Path

import pytest

from actionsrunner.edge.registration import (
    Registration,
    RegistrationUnusable,
    read_registration,
    write_registration,
)

FULL = Registration(
    id=7, uuid="u", token="t", name="n", address="http://x", labels=("a:host", "b:docker://c:d"), ephemeral=True
)


def test_written_registration_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / ".runner"
    write_registration(path, FULL)
    assert read_registration(path) == FULL
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]
    assert next(iter(json.loads(path.read_text()))) == "WARNING"


def test_file_of_forgejo_and_unknown_keys_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / ".runner"
    path.write_text('{"uuid": "u", "token": "t", "address": "http://x/", "labels": null, "future": [1], "id": "7"}')
    registration = read_registration(path)
    assert (registration.address, registration.labels, registration.id) == ("http://x", (), 0)


@pytest.mark.parametrize("text", ["", "  \n"])
def test_empty_file_counts_as_missing(tmp_path: Path, text: str) -> None:
    path = tmp_path / ".runner"
    path.write_text(text)
    with pytest.raises(FileNotFoundError):
        read_registration(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("[]", "object"),
        ('{"uuid": "u", "address": "http://x"}', "`token` is missing"),
        ('{"uuid": 5, "token": "t", "address": "http://x"}', "`uuid` must be a string"),
        ('{"uuid": "u", "token": "t", "address": "a", "labels": "x"}', "`labels`"),
    ],
)
def test_unusable_file_is_explained(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / ".runner"
    path.write_text(text)
    with pytest.raises(RegistrationUnusable, match=words):
        read_registration(path)
