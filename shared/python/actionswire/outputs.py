"""Limits of job outputs: a server drops larger ones without an error, a runner says so before it sends them.

Source: docs/protocol.md, "UpdateTask".
"""

from typing import Final

OUTPUT_KEY_BYTES_MAX: Final = 255
OUTPUT_VALUE_BYTES_MAX: Final = 1_048_576
