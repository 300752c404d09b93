"""Stored lines read back: time of the row, content, damage."""

import pytest

from mockgitea.core.page_rows import page_lines, parse_lines


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"2023-11-14T22:13:20.5000000Z hi", (1_700_000_000.5, "hi")),
        (b"2023-11-14T22:13:20.0000001Z hi there", (1_700_000_000.0000001, "hi there")),
        (b"2023-11-14T22:13:20.5000000Z ", (1_700_000_000.5, "")),
        (b"1970-01-01T00:00:00.0000000Z epoch", (0.0, "epoch")),
        (b"1969-12-31T23:59:59.5000000Z before", (-0.5, "before")),
        (b"9999-12-31T23:59:59.0000000Z late", (253_402_300_799.0, "late")),
        (b"12345-01-01T00:00:00.0000000Z absurd", (0.0, "absurd")),
        (b"nonsense", (0.0, "")),
        (b"", (0.0, "")),
        (b"2023-11-14T22:13:20.5000000Z a\\nb", (1_700_000_000.5, "a\\nb")),
        (b"2023-11-14T22:13:20.5000000Z cut \xc3", (1_700_000_000.5, "cut \ufffd")),
    ],
)
def test_parse_lines_gives_time_and_content_and_survives_damage(line: bytes, expected: tuple[float, str]) -> None:
    assert list(parse_lines([line])) == [expected]


def test_parse_lines_across_seconds_keeps_each_rows_own_time() -> None:
    lines = [f"2023-11-14T22:13:{second:02}.2500000Z x".encode() for second in (20, 20, 21, 20)]
    assert [stamp for stamp, _ in parse_lines(lines)] == [
        1_700_000_000.25, 1_700_000_000.25, 1_700_000_001.25, 1_700_000_000.25,
    ]  # fmt: skip


def test_page_lines_number_rows_from_the_given_one() -> None:
    rows = page_lines([b"2023-11-14T22:13:20.5000000Z a", b"2023-11-14T22:13:20.5000000Z b"], 3)
    assert [(row["index"], row["message"]) for row in rows] == [(3, "a"), (4, "b")]
