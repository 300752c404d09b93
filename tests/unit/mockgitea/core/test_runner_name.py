"""Cutting runner names."""

import pytest

from mockgitea.core.runner_name import cut_name


@pytest.mark.parametrize("rule", ["width", "bytes"])
def test_cut_name_short_names_are_kept(rule: str) -> None:
    assert cut_name("x" * 255, rule) == "x" * 255


def test_cut_name_by_width_ends_with_an_ellipsis() -> None:
    assert cut_name("x" * 256, "width") == "x" * 254 + "…"
    assert cut_name("漢" * 128, "width") == "漢" * 127 + "…"


def test_cut_name_by_bytes_never_splits_a_character() -> None:
    assert cut_name("x" * 300, "bytes") == "x" * 255
    assert cut_name("é" * 200, "bytes") == "é" * 127
