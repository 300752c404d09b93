import pytest

from mockgitea.transport.times import precise, rfc3339


@pytest.mark.parametrize(
    ("at_us", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1_700_000_000_999_999, "2023-11-14T22:13:20Z"),
        (-5, "1970-01-01T00:00:00Z"),
        (2**63 - 1, "9999-12-31T23:59:59Z"),
    ],
)
def test_rfc3339_of_any_stored_time_is_a_whole_second(at_us: int, text: str) -> None:
    assert rfc3339(at_us) == text


def test_precise_time_not_reached_is_none() -> None:
    assert precise(0) is None


def test_precise_time_has_microseconds() -> None:
    assert precise(1_700_000_000_000_001) == "2023-11-14T22:13:20.000001Z"
