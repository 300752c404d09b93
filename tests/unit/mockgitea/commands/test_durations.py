import pytest

from mockgitea.commands.durations import seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [("10m", 600.0), ("1h30m", 5400.0), ("500ms", 0.5), ("1.5s", 1.5), ("0", 0.0), ("2h0m1s", 7201.0), (".5m", 30.0)],
)
def test_seconds_of_go_duration_adds_its_parts(text: str, expected: float) -> None:
    assert seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["", "10", "m", "10 m", "-1m", "1d", "10m!", "1e3s", "٣s"])
def test_seconds_of_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="write it like 10m"):
        seconds(text)
