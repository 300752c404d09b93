"""From text to rows."""

from actionsrunner.core.rows import ROW_CHARS_MAX, printable_lines


def test_trailing_line_ends_are_trimmed() -> None:
    assert list(printable_lines("a\r\n")) == ["a"]
    assert list(printable_lines("")) == [""]


def test_lone_carriage_return_inside_a_line_stays() -> None:
    assert list(printable_lines("10%\r20%")) == ["10%\r20%"]


def test_several_lines_become_several_rows() -> None:
    assert list(printable_lines("a\r\nb\n\nc")) == ["a", "b", "", "c"]


def test_lone_surrogates_become_question_marks() -> None:
    text = b"bad \xff\xfe end \xc3\xa9".decode("utf-8", "surrogateescape")
    assert list(printable_lines(text)) == ["bad ?? end é"]


def test_absurdly_long_line_is_split() -> None:
    assert [len(line) for line in printable_lines("x" * (2 * ROW_CHARS_MAX + 5))] == [ROW_CHARS_MAX, ROW_CHARS_MAX, 5]
