"""The row buffer in memory and in its file."""

import random

import pytest

from actionsrunner.core.rows import Row
from actionsrunner.edge.rowbuffer import ROW_OVERHEAD_BYTES, RowBuffer

ROW_BYTES = ROW_OVERHEAD_BYTES + 5


def row(number: int) -> Row:
    return Row(number, f"{number:05}")


def filled(count: int, *, in_memory: int = 10) -> RowBuffer:
    buffer = RowBuffer(memory_bytes_max=in_memory * ROW_BYTES)
    for number in range(count):
        buffer.append(row(number))
    return buffer


def test_rows_beyond_the_bound_go_to_the_file() -> None:
    buffer = filled(100)
    assert (buffer.total, buffer.spilled) == (100, 90)
    buffer.close()


def test_spilled_rows_come_back_in_order() -> None:
    buffer = filled(100)
    for offset in range(0, 100, 7):
        buffer.drop_to(offset)
        assert buffer.peek(5, 10**6) == [row(n) for n in range(offset, min(offset + 5, 100))]
    buffer.close()


def test_peek_does_not_remove() -> None:
    buffer = filled(3)
    assert buffer.peek(2, 10**6) == buffer.peek(2, 10**6) == [row(0), row(1)]


def test_peek_stops_before_the_byte_limit_but_gives_at_least_one() -> None:
    buffer = filled(10)
    assert buffer.peek(10, 12) == [row(0), row(1)]
    assert buffer.peek(10, 1) == [row(0)]


def test_empty_rows_count_against_the_byte_limit_too() -> None:
    buffer = RowBuffer()
    for _ in range(100):
        buffer.append(Row(7, ""))
    assert len(buffer.peek(100, 50)) == 50


def test_oldest_row_can_be_cut_between_characters_and_nothing_else_changes() -> None:
    buffer = RowBuffer(memory_bytes_max=10_000)
    for content in ("äöü", "next"):
        buffer.append(Row(7, content))
    buffer.cut_oldest(3)
    assert buffer.peek(10, 100) == [Row(7, "ä"), Row(7, "next")]
    buffer.drop_to(2)
    assert buffer.peek(10, 100) == []


def test_unspilled_buffer_has_no_file_and_closes_twice() -> None:
    buffer = filled(3)
    assert buffer.spilled == 0
    buffer.close()
    buffer.close()


@pytest.mark.parametrize("seed", range(20))
def test_random_use_loses_and_repeats_nothing(seed: int) -> None:
    rng = random.Random(seed)
    buffer = RowBuffer(memory_bytes_max=20 * ROW_BYTES)
    offset = 0
    for _ in range(300):
        for _ in range(rng.randint(0, 12)):
            buffer.append(Row(buffer.total, f"{buffer.total}é" * rng.randint(1, 4)))
        taken = buffer.peek(rng.randint(1, 30), rng.randint(1, 400))
        assert [r.at_us for r in taken] == list(range(offset, offset + len(taken))), f"seed {seed}"
        if taken and rng.random() < 0.7:
            offset += rng.randint(0, len(taken))
            buffer.drop_to(offset)
    buffer.drop_to(buffer.total)
    assert buffer.peek(5, 100) == []
    buffer.close()
