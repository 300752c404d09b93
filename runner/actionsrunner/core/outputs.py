"""The outputs of a job: limits, and no secret in them. Pure.

What a server would drop silently is dropped here, with a message for a row.
"""

from collections.abc import Mapping

from actionsrunner.core.masking import Masker
from actionsrunner.core.rows import valid_text
from actionswire.outputs import OUTPUT_KEY_BYTES_MAX, OUTPUT_VALUE_BYTES_MAX


def acceptable_outputs(outputs: Mapping[str, str], masker: Masker) -> tuple[dict[str, str], list[str]]:
    """Choose the job outputs that may be sent.

    Returns:
        (the outputs to send, one message for each that is dropped); messages hold no value.
    Source: docs/running-jobs.md, "Limits".
    """
    kept: dict[str, str] = {}
    dropped: list[str] = []
    for name, value in outputs.items():
        reason = _objection(name, value, masker)
        if reason:
            dropped.append(f"the output `{name[:OUTPUT_KEY_BYTES_MAX]}` is dropped: {reason}")
        else:
            # Half a surrogate pair, which an expression can make, would break the message to the server.
            kept[valid_text(name)] = valid_text(value)
    return kept, dropped


def _objection(name: str, value: str, masker: Masker) -> str:
    if _size(name) > OUTPUT_KEY_BYTES_MAX:
        return f"its name has more than {OUTPUT_KEY_BYTES_MAX} bytes"
    if _size(value) > OUTPUT_VALUE_BYTES_MAX:
        return f"its value has more than {OUTPUT_VALUE_BYTES_MAX} bytes"
    if masker.touches(value):
        return "its value may contain a secret"
    return ""


def _size(text: str) -> int:
    return len(text.encode("utf-8", errors="replace"))
