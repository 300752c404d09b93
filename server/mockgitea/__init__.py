"""A mock Gitea Actions server for integration tests of CI runners and CI servers."""

from typing import Final

__version__: Final = "0.1.0"
__all__ = ["__version__"]
