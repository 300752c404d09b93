"""Durations and sizes."""

import pytest

from actionsrunner.units import format_duration, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("0s", 0), ("3h", 10800), ("10m30s", 630), ("500ms", 0.5), ("1.5h", 5400), (".5s", 0.5), ("1us", 1e-6)],
)
def test_duration_is_read_as_go_writes_it(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "3", "h", "3 h", "3d", "-3h", "3h4", "1h x", "3H"])
def test_other_text_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration; write for example"):
        parse_duration(text)


@pytest.mark.parametrize("seconds", [0, 0.5, 1, 61, 5400, 10800, 86399])
def test_formatted_duration_is_read_back(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("4096", 4096), ("1GB", 10**9), ("512MiB", 512 << 20), ("1.5k", 1500), ("10 gb", 10**10)],
)
def test_size_is_read(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "1XB", "-1"])
def test_other_text_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        parse_size(text)
