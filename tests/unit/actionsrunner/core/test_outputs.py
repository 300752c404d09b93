from actionsrunner.core.masking import Masker
from actionsrunner.core.outputs import acceptable_outputs
from actionswire.outputs import OUTPUT_KEY_BYTES_MAX, OUTPUT_VALUE_BYTES_MAX


def test_acceptable_outputs_at_the_limits_are_kept() -> None:
    outputs = {"k" * OUTPUT_KEY_BYTES_MAX: "v", "big": "x" * OUTPUT_VALUE_BYTES_MAX}
    assert acceptable_outputs(outputs, Masker()) == (outputs, [])


def test_acceptable_outputs_above_the_limits_are_dropped_with_a_message() -> None:
    outputs = {"ü" * 128: "v", "big": "x" * (OUTPUT_VALUE_BYTES_MAX + 1), "good": "1"}
    kept, dropped = acceptable_outputs(outputs, Masker())
    assert kept == {"good": "1"}
    assert [message.rpartition(":")[2] for message in dropped] == [
        " its name has more than 255 bytes",
        " its value has more than 1048576 bytes",
    ]


def test_acceptable_outputs_with_a_secret_are_dropped_without_showing_it() -> None:
    masks = Masker(("first line\nsecond\n", "x", "  "))
    kept, dropped = acceptable_outputs({"a": "has second inside", "b": "x y", "c": "plain"}, masks)
    assert kept == {"b": "x y", "c": "plain"}
    assert dropped == ["the output `a` is dropped: its value may contain a secret"]


def test_acceptable_outputs_are_valid_text() -> None:
    assert acceptable_outputs({"a": "x\ud800y"}, Masker()) == ({"a": "x?y"}, [])
