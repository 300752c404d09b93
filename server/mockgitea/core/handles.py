"""Job handles: the opaque name of one attempt of one job, by which a runner may ask for just that.

Source: docs/protocol.md, "Rerun".
"""

import uuid
from typing import Final

_NAMESPACE: Final = uuid.UUID("6f0bb7e8-9a9e-4e0e-8a43-0d3f6a4f2c11")


def job_handle(seed: str, *place: int) -> str:
    """Return the handle of an attempt of a job.

    Args:
        seed: text that differs from server to server, so that handles cannot be guessed across them.
        place: numbers that no other attempt of any job has.
    """
    return str(uuid.uuid5(_NAMESPACE, f"{seed}:{place}"))
