"""Documents that follow from the code: tables are generated, words and sections are compared."""

import re
import subprocess
import sys
from pathlib import Path

from actionswire.codes import HTTP_STATUS
from actionswire.gen.ping.v1 import ping_pb2
from actionswire.gen.runner.v1 import runner_pb2
from mockgitea.transport.methods import PROCEDURES

ROOT = Path(__file__).resolve().parents[2]
PROTOCOL = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return PROTOCOL.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_generated_tables_are_fresh() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "generate_docs.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_protocol_lists_every_method() -> None:
    paths = re.findall(r"^\| `/([\w.]+/\w+)` \|", section("Transport"), re.MULTILINE)
    assert paths == [procedure.name for procedure in PROCEDURES]


def test_protocol_lists_every_code_with_its_status() -> None:
    pairs = re.findall(r"`(\w+)` \| (\d+)", section("Errors").partition("| dialect |")[0])
    assert dict(pairs) == {code.value: str(status) for code, status in HTTP_STATUS.items()}


def test_protocol_lists_every_message_with_its_fields() -> None:
    listed: dict[str, str] = {}
    for names, field_list in re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| (\d.*) \|$", section("Messages"), re.MULTILINE):
        listed |= dict.fromkeys(re.findall(r"`(\w+)`", names), field_list)
    expected = {
        name: ", ".join(f"{field.number}: {field.name}" for field in message.fields)
        for module in (ping_pb2, runner_pb2)
        for name, message in module.DESCRIPTOR.message_types_by_name.items()
    }
    assert listed == expected


def test_sources_named_in_docstrings_exist() -> None:
    missing = []
    for path in sorted((ROOT / "server").rglob("*.py")) + sorted((ROOT / "shared" / "python").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for file, quoted in re.findall(
            r'Source: (docs/[\w./-]+\.md)((?:(?:,| and) ?"[^"]+")*)', text.replace("\n", " ")
        ):
            document = (ROOT / file).read_text(encoding="utf-8") if (ROOT / file).exists() else ""
            if not document:
                missing.append(f"{path.relative_to(ROOT)}: {file}")
            headings = re.findall(r"^#+ (.+)$", document, re.MULTILINE)
            missing += [
                f"{path.relative_to(ROOT)}: {file} has no section {title!r}"
                for title in re.findall(r'"([^"]+)"', quoted)
                if title not in headings
            ]
    assert not missing
