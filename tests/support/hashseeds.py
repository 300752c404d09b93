"""Output of a script under different hash seeds: what is deterministic has the same bytes under all of them."""

import os
import subprocess
import sys

HASH_SEEDS = ("1", "4242")


def outputs_by_hash_seed(script: str, *, within_s: float) -> list[bytes]:
    """Run ``script`` in a fresh interpreter once for each seed and return what it printed."""
    return [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=within_s,
        ).stdout
        for seed in HASH_SEEDS
    ]
