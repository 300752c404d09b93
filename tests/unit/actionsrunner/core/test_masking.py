"""Secrets in rows."""

import base64
import json
from urllib.parse import quote

import pytest

from actionsrunner.core.masking import Masker, hidden_values

SECRET = 'p4ss"w<rd&/ü'


def test_value_is_replaced_everywhere() -> None:
    assert Masker(["abc"]).mask("abc x abcabc") == "*** x ******"


def test_text_without_secret_is_unchanged() -> None:
    assert Masker(["secret"]).mask("nothing here") == "nothing here"
    assert Masker().mask("anything") == "anything"


def test_longest_value_wins_over_the_one_inside() -> None:
    assert Masker(["pass", "password-long"]).mask("my password-long!") == "my ***!"


def test_overlapping_values_leave_nothing_visible() -> None:
    assert Masker(["abcd", "xxab"]).mask("-xxabcd-") == "-***-"


def test_multi_line_value_is_hidden_line_by_line() -> None:
    masker = Masker(["-----BEGIN-----\nMIIabc\n}\n"])
    assert masker.mask("MIIabc") == "***"
    assert masker.mask("x -----BEGIN----- y") == "x *** y"
    assert masker.mask("}") == "}"


@pytest.mark.parametrize("value", ["", " ", "\n", "x", " y "])
def test_blank_and_single_characters_are_never_hidden(value: str) -> None:
    masker = Masker([value])
    assert masker.mask("x y z") == "x y z"
    assert masker.too_short == bool(value.strip())


def test_surrounding_blanks_do_not_protect_a_value() -> None:
    assert Masker(["  s3cret \n"]).mask("a s3cret b") == "a *** b"


def test_added_value_counts_from_then_on() -> None:
    masker = Masker()
    assert masker.mask("later") == "later"
    masker.add("later")
    assert masker.mask("later") == "***"


@pytest.mark.parametrize(
    "encoded",
    [
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        json.dumps(SECRET)[1:-1].replace("<", "\\u003c").replace("&", "\\u0026"),
        quote(SECRET, safe=""),
        base64.b64encode(SECRET.encode()).decode(),
    ],
)
def test_encodings_are_hidden(encoded: str) -> None:
    masked = Masker([SECRET]).mask(f"a {encoded} b")
    assert masked.startswith("a ***")
    assert "ssw" not in masked
    assert encoded[:8] not in masked


@pytest.mark.parametrize("prefix", ["", "u", "us", "user:"])
@pytest.mark.parametrize("suffix", ["", "z", "zz", "zzz"])
def test_value_inside_a_longer_base64_text_is_hidden(prefix: str, suffix: str) -> None:
    secret = "hunter2-hunter2"
    encoded = base64.b64encode(f"{prefix}{secret}{suffix}".encode()).decode()
    masked = Masker([secret]).mask(encoded)
    assert "***" in masked
    assert len(masked) < len(encoded)


def test_touches_tells_whether_a_value_is_inside() -> None:
    masker = Masker(["s3cret"])
    assert masker.touches("a s3cret")
    assert not masker.touches("a secret")


def test_hidden_values_are_all_secrets_and_tokens_but_no_switches() -> None:
    context = {
        "token": "t1",
        "gitea_runtime_token": "t2",
        "forgejo_runtime_token": "t3",
        "actions_id_token_request_token": "t4",
        "forgejo_actions_id_token_request_token": "t5",
        "event": {"token": "x"},
        "actor": "mona",
    }
    secrets = {"A": "s1", "EMPTY": " ", "ACTIONS_STEP_DEBUG": "true", "ACTIONS_RUNNER_DEBUG": "true"}
    assert hidden_values(secrets, context) == ["s1", "t1", "t2", "t3", "t4", "t5"]
    assert Masker(hidden_values(secrets, context)).mask("this is true") == "this is true"
