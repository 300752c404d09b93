"""docs/strategies.md names every preset, strategy, option and pool, and describes presets as they are."""

import re
from pathlib import Path

import pytest

from actionsrunner.strategy_table import POLL, POLL_KEYS, POOLS, PRESETS, REPORT, REPORT_KEYS

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "strategies.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([^`]+)` \| (`.*) \|$", PAGE, re.M))


@pytest.mark.parametrize("name", [*PRESETS, *POLL, *REPORT, *POOLS])
def test_every_name_is_explained(name: str) -> None:
    assert f"`{name}`" in PAGE


OWN_OPTIONS = [
    option for option, key in {**POLL_KEYS, **REPORT_KEYS}.items() if key.startswith(("runner.poll.", "runner.report."))
]


@pytest.mark.parametrize("option", OWN_OPTIONS)
def test_every_option_of_ours_is_explained(option: str) -> None:
    assert f"`{option}" in PAGE


@pytest.mark.parametrize("name", PRESETS)
def test_table_of_presets_says_what_each_combines(name: str) -> None:
    poll, report, pool, _ = ROWS[name].split(" | ")
    preset = PRESETS[name]
    assert poll.startswith(f"`{preset.poll}`")
    assert report.startswith(f"`{preset.report}`") or (report == "the same" and preset.report == preset.poll)
    assert pool == f"`{preset.pool}`"
    for option in preset.poll_options:
        assert option in poll
