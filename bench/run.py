"""Run every benchmark of this folder one after the other; `--smoke` runs one short iteration of each.

Speed never gates a merge: machines differ and are shared. The exit code tells only whether the scripts still work.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPT_S_MAX = 1200


def main() -> int:
    """Run the scripts and report which of them failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="one short iteration each, no result files")
    options = parser.parse_args()
    failed = []
    for script in sorted(HERE.glob("*.py")):
        if script.name == Path(__file__).name or script.name.startswith("_"):
            continue
        print(f"--- {script.name}", flush=True)
        command = [sys.executable, str(script), *(["--smoke"] if options.smoke else [])]
        if subprocess.run(command, timeout=SCRIPT_S_MAX, check=False).returncode != 0:
            failed.append(script.name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
