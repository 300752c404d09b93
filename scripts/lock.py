"""Write `requirements.lock`: every package that `make setup` installs, pinned.

Reads the ranges of pyproject.toml (runtime dependencies and the dev group). The lock names packages and versions
only, never an index, so it works against any mirror.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = "# Written by `make lock` from pyproject.toml; edit the ranges there, not here.\n"


def main() -> int:
    """Resolve the ranges and write the lock."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    command = [
        *(sys.executable, "-m", "piptools", "compile", "--quiet", "--strip-extras", "--allow-unsafe", "--upgrade"),
        *("--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-trusted-host", "--no-emit-find-links"),
        *("--output-file", "-", "-"),
    ]
    resolved = subprocess.run(command, input="\n".join(wanted), text=True, stdout=subprocess.PIPE, check=True)
    # strip-extras drops uvicorn's [standard] marker, whose packages are listed on their own anyway.
    (ROOT / "requirements.lock").write_text(HEADER + resolved.stdout)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
