"""`python -m actionsrunner` is the `actionsrunner` command."""

import sys

from actionsrunner.cli import main

if __name__ == "__main__":
    sys.exit(main())
