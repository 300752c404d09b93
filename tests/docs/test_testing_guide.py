"""Every Python snippet of docs/testing.md runs, with stand-ins for the reader's own runner."""

import asyncio
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from mockgitea.core.audit_rules import CORRECT, Rule
from mockgitea.core.call_match import CallMatcher
from mockgitea.testing import CallRefused, MockGitea, PlayedRunner, Runner, UnexpectedCalls

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "testing.md"
TEXT = GUIDE.read_text(encoding="utf-8")
SNIPPETS = [
    pytest.param(TEXT[: found.start()].count("\n") + 2, found[1], id=f"line-{TEXT[: found.start()].count(chr(10)) + 1}")
    for found in re.finditer(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
]
WORKFLOW = re.search(r'^WORKFLOW = """(.*?)"""', TEXT, re.MULTILINE | re.DOTALL)


def run_one_task(url: str, token: str) -> None:
    """Be the reader's runner: register, take a task if there is one, print the row its step asks for."""
    stranger = Runner(0, "", "", "reader", ("linux",), url)
    with PlayedRunner(stranger) as registering:
        made = registering.call("Register", {"name": "reader", "token": token, "labels": ["linux"]})["runner"]
    with Runner(made["id"], made["uuid"], made["token"], "reader", ("linux",), url).play() as played:
        played.declare()
        task = played.fetch()
        if task is not None:
            played.finish(task["id"], "success", "hello")


async def start_your_runner(url: str, token: str) -> None:
    """The same for async snippets."""
    await asyncio.to_thread(run_one_task, url, token)


@pytest.fixture
def reader(tmp_path: Path) -> dict[str, Any]:
    """What a reader has around a snippet: the names of earlier snippets and a runner."""
    threads: list[threading.Thread] = []

    def start_and_forget(url: str, token: str) -> None:
        threads.append(threading.Thread(target=run_one_task, args=(url, token), daemon=True))
        threads[-1].start()

    assert WORKFLOW is not None
    return {
        "MockGitea": MockGitea,
        "CallRefused": CallRefused,
        "UnexpectedCalls": UnexpectedCalls,
        "WORKFLOW": WORKFLOW[1],
        "tmp_path": tmp_path,
        "start_your_runner": start_your_runner,
        "start_your_runner_and_forget": start_and_forget,
    }


@pytest.mark.parametrize(("line", "snippet"), SNIPPETS)
def test_python_snippet_runs(line: int, snippet: str, reader: dict[str, Any], request: pytest.FixtureRequest) -> None:
    code = compile("\n" * (line - 1) + snippet, str(GUIDE), "exec")
    exec(code, reader)
    if "mockgitea_url" in snippet:
        server: MockGitea = request.getfixturevalue("mockgitea")
        reader["test_runner_registers"](server, server.url)


def test_printed_failure_is_what_a_reader_sees(reader: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    snippet = next(param.values[1] for param in SNIPPETS if "print(error)" in str(param.values[1]))
    exec(str(snippet), reader)

    def without_times(text: str) -> list[str]:
        return [re.sub(r"\d\d:\d\d:\d\d\.\d{3}", "TIME", line) for line in text.strip().splitlines()]

    shown = re.search(r"^```\n(expected 1 call within.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert without_times(shown[1]) == without_times(capsys.readouterr().out)


def test_guide_lists_exactly_the_audit_rules() -> None:
    listed = re.findall(r"^\| `([a-z-]+)` \|", section("Audits"), re.MULTILINE)
    assert listed == [rule.value for rule in Rule]
    assert set(CORRECT) == set(Rule)


def test_guide_lists_exactly_the_fields_of_a_matcher() -> None:
    cells = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", section("Matchers"), re.MULTILINE)
    listed = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(listed) == sorted(CallMatcher.__dataclass_fields__)


def section(title: str) -> str:
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
