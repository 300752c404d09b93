"""Which profiles a conformance case holds for, as the contract lists them."""

import pytest

ALL = ("gitea-1.20", "gitea-1.21", "gitea-1.25", "gitea-1.27", "gitea-next", "forgejo-11", "forgejo-15")
DECLARING = ALL[1:]
"""Every profile but the one without Declare and tasks_version."""
NEW = ("gitea-1.27", "gitea-next")
FORGEJO_15 = ("forgejo-15",)


def holds_for(*names: str) -> pytest.MarkDecorator:
    """Run the case once for each of these profiles; none named means all."""
    return pytest.mark.parametrize("profile", names or ALL)


def every_profile_but(*names: str) -> pytest.MarkDecorator:
    """Run the case for all profiles but these."""
    return pytest.mark.parametrize("profile", [name for name in ALL if name not in names])
