"""One tasks_version for several fetches in flight."""

import pytest

from actionsrunner.core.strategies.old_fetch import swap_version


@pytest.mark.parametrize(
    ("stored", "sent", "answered", "got_task", "expected"),
    [
        (3, 3, 5, False, 5),
        (3, 3, 3, False, 3),
        (3, 3, 0, False, 3),
        (5, 3, 4, False, 5),
        (5, 3, 9, False, 5),
        (3, 3, 5, True, 0),
        (3, 3, 3, True, 0),
        (7, 3, 5, True, 7),
        (0, 3, 5, False, 0),
    ],
    ids=[
        "a higher answer is stored",
        "the same changes nothing",
        "a lower one is not stored",
        "another answer came first",
        "another answer came first, although this one is higher",
        "a task makes the next fetch look",
        "a task without news too",
        "a task of an answer that came too late does not",
        "an answer does not undo the look",
    ],
)
def test_swap_version_compares_before_it_stores(
    *, stored: int, sent: int, answered: int, got_task: bool, expected: int
) -> None:
    assert swap_version(stored, sent=sent, answered=answered, got_task=got_task) == expected
