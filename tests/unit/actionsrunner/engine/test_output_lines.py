import pytest

from actionsrunner.engine.output_lines import LineSplitter, clean_row, split_rows


def rows_of(*chunks: bytes, limit: int = 100) -> list[str]:
    splitter = LineSplitter(limit)
    return [row for chunk in chunks for row in splitter.feed(chunk)] + list(splitter.finish())


@pytest.mark.parametrize(
    ("chunks", "rows"),
    [
        ((b"",), []),
        ((b"a\nb\n",), ["a", "b"]),
        ((b"a", b"b\nc"), ["ab", "c"]),
        ((b"a\r\n", b"b\r\r\n"), ["a", "b"]),
        ((b"a\rb\n",), ["a\rb"]),
        ((b"\n\n",), ["", ""]),
        ((b"\xe2\x82", b"\xac\n"), ["€"]),
        ((b"x\xffy\xfe\xfd\n",), ["x?y?"]),
        ((b"tail\r",), ["tail"]),
    ],
)
def test_splitter_cuts_rows_across_chunks(chunks: tuple[bytes, ...], rows: list[str]) -> None:
    assert rows_of(*chunks) == rows


def test_splitter_bounds_long_rows_between_characters() -> None:
    assert rows_of(b"x" * 25, limit=10) == ["x" * 10, "x" * 10, "x" * 5]
    assert rows_of("€".encode() * 8 + b"\n", limit=10) == ["€€€", "€€€", "€€"]
    assert rows_of(b"x" * 10 + b"\n", limit=10) == ["x" * 10]


def test_splitter_holds_no_more_than_one_row() -> None:
    splitter = LineSplitter(10)
    for _ in range(100):
        list(splitter.feed(b"y" * 7))
        assert len(splitter._rest) <= 10


def test_clean_row_makes_text_fit_for_the_log() -> None:
    assert clean_row("a\nb\r\n") == "a b"
    assert clean_row("x\ud800\udc00y") == "x?y"


def test_split_rows_splits_messages() -> None:
    assert split_rows("a\r\nb\n\nc") == ["a", "b", "", "c"]
    assert split_rows("") == [""]
