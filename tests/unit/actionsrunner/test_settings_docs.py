"""docs/runner-settings.md and the table of keys say the same."""

import json
import re
from pathlib import Path

import pytest

from actionsrunner.settings import FORGEJO_KEYS, KEYS, Key, Kind

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "runner-settings.md").read_text(encoding="utf-8")
ROWS = {
    name: (default, text) for name, default, text in re.findall(r"^\| `([^`]+)` \| `([^`]*)` \| (.*) \|$", PAGE, re.M)
}


def written(key: Key) -> str:
    return str(key.default) if key.kind in (Kind.DURATION, Kind.CHOICE) else json.dumps(key.default)


def test_every_key_is_documented_and_every_documented_key_exists() -> None:
    assert set(ROWS) == {key.name for key in KEYS}


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_documented_default_and_effect_are_those_of_the_table(key: Key) -> None:
    default, text = ROWS[key.name]
    assert default == written(key)
    assert text.startswith(key.help)
    assert ("No effect: " in text) == bool(key.idle)
    assert key.idle in text
    assert ("*(ours)*" in text) == key.ours


@pytest.mark.parametrize("name", FORGEJO_KEYS)
def test_keys_of_forgejos_runner_are_listed(name: str) -> None:
    assert f"`{name}`" in PAGE
