"""One process per registration."""

from pathlib import Path

import pytest

from actionsrunner.edge.instance_lock import AlreadyRunning, InstanceLock


def test_second_lock_is_refused_until_the_first_is_released(tmp_path: Path) -> None:
    path = tmp_path / ".runner"
    with InstanceLock(path), pytest.raises(AlreadyRunning, match=r"\.runner\.lock"), InstanceLock(path):
        pass
    with InstanceLock(path):
        pass
