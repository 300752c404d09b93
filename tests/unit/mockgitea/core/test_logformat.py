"""Stored log lines: stamp, line feeds, cut, absurd times."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from mockgitea.core.logformat import CONTENT_BYTES_MAX, format_rows

S = 1_000_000_000


@pytest.mark.parametrize(
    ("time_ns", "stamp"),
    [
        (0, "1970-01-01T00:00:00.0000000Z"),
        (1_700_000_000 * S + 512_345_678, "2023-11-14T22:13:20.5123456Z"),
        (951_782_400 * S, "2000-02-29T00:00:00.0000000Z"),
        (253_402_300_799 * S + S - 1, "9999-12-31T23:59:59.9999999Z"),
        (253_402_300_800 * S, "10000-01-01T00:00:00.0000000Z"),
        (-1, "1969-12-31T23:59:59.9999999Z"),
        (-62_135_596_800 * S - 1, "0000-12-31T23:59:59.9999999Z"),
        (-62_198_755_200 * S, "-0001-01-01T00:00:00.0000000Z"),
    ],
)
def test_stamp_any_time_has_seven_decimals(time_ns: int, stamp: str) -> None:
    assert format_rows([(time_ns, "x")]) == f"{stamp} x\n".encode()


@pytest.mark.parametrize("second", [2**63 - 1, -(2**63)])
def test_stamp_largest_times_of_the_wire_do_not_crash(second: int) -> None:
    assert format_rows([(second * S, "x")]).endswith(b"Z x\n")


def test_stamp_agrees_with_the_calendar() -> None:
    rng = Random(5)
    for _ in range(2000):
        second = rng.randrange(-62_135_596_800, 253_402_300_800)
        expected = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
        line = format_rows([(second * S, "")]).decode()
        assert line == f"{expected.year:04d}{expected:-%m-%dT%H:%M:%S}.0000000Z \n"


def test_content_line_feeds_are_spelled_out_and_all_else_is_kept() -> None:
    line = format_rows([(0, "a\nb\r\tc\\n ümlaut")])
    assert line.split(b"Z ", 1)[1] == "a\\nb\r\tc\\n ümlaut\n".encode()


@pytest.mark.parametrize("content", ["x" * 70_000, "é" * 40_000, "\n" * 40_000, "漢" * 30_000])
def test_content_is_cut_by_bytes_after_line_feeds_were_spelled_out(content: str) -> None:
    stored = format_rows([(0, "before"), (0, content), (0, "after")]).split(b"\n")
    assert stored[1].split(b"Z ", 1)[1] == content.replace("\n", "\\n").encode()[:CONTENT_BYTES_MAX]
    assert stored[2].endswith(b"after")


def test_content_of_exactly_the_limit_is_kept() -> None:
    assert format_rows([(0, "x" * CONTENT_BYTES_MAX)]).endswith(b"Z " + b"x" * CONTENT_BYTES_MAX + b"\n")
