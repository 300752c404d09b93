"""Reads behind the page: parts of a log, names, payloads."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, create_engine

from mockgitea.storage import page_queries, schema
from pagedata import Seed


@pytest.fixture
def conn() -> Iterator[Connection]:
    engine = create_engine("sqlite://")
    schema.metadata.create_all(engine)
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def contents(lines: list[bytes]) -> list[str]:
    return [line.partition(b" ")[2].decode() for line in lines]


def chunked(conn: Connection, sizes: list[int]) -> list[str]:
    seed = Seed(conn)
    task = seed.task(seed.job(seed.run(seed.repository())))
    first = 0
    for size in sizes:
        seed.rows(task, first, [f"row {first + place}" for place in range(size)])
        first += size
    seed.rows(seed.task(seed.job(1)), 0, ["of another task"])
    return [f"row {row}" for row in range(first)]


def test_log_parts_put_together_are_the_whole_log_up_to_the_snapshot(conn: Connection) -> None:
    everything = chunked(conn, [3, 3, 3, 3])
    body, first = b"", 0
    while True:
        part, following = page_queries.read_log_part(conn, 1, first, 9, chunks=2)
        if following == first:
            break
        body, first = body + part, following
    assert contents(body.splitlines()) == everything[:9]
    assert page_queries.log_size(conn, 1, 9) == len(body)


def test_repository_names_match_without_case_but_exact_ones_first(conn: Connection) -> None:
    seed = Seed(conn)
    lower, upper = seed.repository("demo", "app"), seed.repository("Demo", "App")
    found = [
        page_queries.repository_named(conn, *names) for names in (("Demo", "App"), ("demo", "app"), ("DEMO", "APP"))
    ]
    assert [row["id"] for row in found if row is not None] == [upper, lower, lower]
    assert page_queries.repository_named(conn, "demo", "none") is None


@pytest.mark.parametrize(
    ("payload", "number"),
    [
        ({"number": 7}, 7),
        ({"pull_request": {"number": 8}}, 8),
        ({"pull_request": "odd"}, 0),
        ({"number": "9"}, 0),
        ({}, 0),
    ],
)
def test_pull_request_number_is_read_from_the_payload(conn: Connection, payload: object, number: int) -> None:
    seed = Seed(conn)
    run = seed.run(seed.repository(), event_payload=payload)
    assert page_queries.pull_request_number(conn, run) == number
