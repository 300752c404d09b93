"""The rows and steps of the job shapes."""

import pytest

from mockgitea.lab.shapes import MIXED, SHAPE_NAMES, JobShape, RecordedRow, built_in

HALF_HOUR_US = 1_800_000_000


def rows_of(shape: JobShape) -> list[tuple[int, str]]:
    return [(at_us, row) for step in range(shape.steps) for at_us, rows in shape.pieces(step) for row in rows]


@pytest.mark.parametrize(("name", "count"), [("chatty", 1800), ("bursty-install", 60 * 200), ("quiet-download", 60)])
def test_a_shape_has_its_number_of_rows_in_half_an_hour(name: str, count: int) -> None:
    shape = built_in(name)
    rows = rows_of(shape)
    assert shape.duration_us == HALF_HOUR_US
    assert len(rows) == count
    assert rows == sorted(rows, key=lambda row: row[0])
    assert [int(text.split()[1]) for _, text in rows] == list(range(count))
    assert rows[0][0] >= 0 and rows[-1][0] < HALF_HOUR_US


def test_silent_has_five_steps_of_twenty_minutes_and_no_row() -> None:
    shape = built_in("silent")
    assert (shape.steps, shape.step_us, rows_of(shape)) == (5, 1_200_000_000, [])


def test_a_burst_writes_its_rows_within_two_seconds() -> None:
    first = [at_us for at_us, _ in rows_of(built_in("bursty-install")) if at_us < 30_000_000]
    assert len(first) == 200
    assert first[-1] - first[0] < 2_000_000


@pytest.mark.parametrize(("rows", "pieces"), [(1, 200), (10, 20), (200, 1)])
def test_a_burst_comes_in_pieces_of_the_wanted_size(rows: int, pieces: int) -> None:
    shape = built_in("bursty-install", burst_piece_rows=rows)
    first = [written for at_us, written in shape.pieces(0) if at_us < 30_000_000]
    assert [len(written) for written in first] == [rows] * pieces
    assert [row for piece in first for row in piece] == [text for _, text in rows_of(built_in("bursty-install"))][:200]


@pytest.mark.parametrize("name", SHAPE_NAMES)
def test_rows_stay_inside_their_step_for_any_duration(name: str) -> None:
    shape = built_in(name, duration_s=77.0)
    for step in range(shape.steps):
        for at_us, _ in shape.pieces(step):
            assert step * shape.step_us <= at_us < (step + 1) * shape.step_us


def test_mixed_is_the_three_that_write() -> None:
    assert MIXED == ("chatty", "bursty-install", "quiet-download")


def test_a_recorded_log_keeps_its_rows_and_times() -> None:
    recorded = (RecordedRow(0, "a"), RecordedRow(5_000_000, "b"), RecordedRow(9_999_999, "c"))
    shape = JobShape(name="recorded", step_us=2_000_000, rows=recorded)
    assert rows_of(shape) == [(0, "a"), (5_000_000, "b"), (9_999_999, "c")]
