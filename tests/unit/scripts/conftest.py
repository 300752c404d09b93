"""Makes the modules of scripts/ importable here as they are to each other; they are not part of any package."""

import sys
from pathlib import Path

SCRIPTS = str(Path(__file__).resolve().parents[3] / "scripts")

if SCRIPTS not in sys.path:
    sys.path.append(SCRIPTS)
