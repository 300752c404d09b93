"""No case of the protocol's list N1 to N41 is without a test, and no test bears a number that does not exist."""

import re
from pathlib import Path


def test_cases_one_to_forty_one_each_have_a_test() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    numbers = {int(number) for number in re.findall(r"^def test_n(\d+)_", text, re.M)}
    assert numbers == set(range(1, 42))
