"""Job summaries from a step's file to the page, through the real runner and the real server."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from eventlog import logged
from mockgitea.testing import MockGitea, Run
from runnerapp import running

SECRET = "hunter2-and-more"
WORKFLOW = """
on: push
jobs:
  a:
    name: first
    runs-on: linux
    steps:
      - run: echo '# Tests' >> "$GITHUB_STEP_SUMMARY"
      - run: echo nothing to say
      - run: |
          echo 'passed: **12**, with ${{ secrets.KEY }} and later-hidden' >> "$GITHUB_STEP_SUMMARY"
          exit 3
      - if: always()
        run: echo '::add-mask::later-hidden'
"""


def summaries_on_page(server: MockGitea, run: Run) -> list[dict[str, Any]]:
    page = httpx.post(f"{server.url}/demo/demo/actions/runs/{run.id}", json={"logCursors": []}).raise_for_status()
    return list(page.json()["state"]["run"].get("jobSummaries", []))


def played(folder: Path, workflow: str, *, profile: str = "gitea-1.27", cancel: bool = False) -> list[dict[str, Any]]:
    """Run ``workflow`` with the real runner; return the summaries on the run's page, on servers that have them."""

    async def scenario() -> list[dict[str, Any]]:
        async with MockGitea(profile=profile) as server:
            run = server.enqueue(workflow, secrets={"KEY": SECRET})
            async with running(
                server, folder, known=server.new_runner(), once=True, report_close_timeout="10s"
            ) as runner:
                if cancel:
                    await server.wait_until_async(lambda: run.log("a")[-1:] == ["waiting"], 30)
                    run.cancel()
                await run.wait_async(30)
                await runner.ended()
            return await asyncio.to_thread(summaries_on_page, server, run) if profile == "gitea-1.27" else []

    return asyncio.run(scenario())


def test_what_steps_wrote_is_on_the_page_with_its_secrets_hidden(tmp_path: Path) -> None:
    (shown,) = played(tmp_path, WORKFLOW)
    assert shown["jobName"] == "first"
    assert shown["summaryHTML"] == "<h1>Tests</h1>\n<p>passed: <strong>12</strong>, with *** and ***</p>\n"


@pytest.mark.parametrize("profile", ["gitea-1.25", "forgejo-15"])
def test_servers_that_announce_nothing_are_sent_nothing(profile: str, tmp_path: Path) -> None:
    """They would answer 404, and the runner would log that."""
    with logged() as logs:
        played(tmp_path, WORKFLOW, profile=profile)
    events = [entry["event"] for entry in logs]
    assert "task_ended" in events
    assert "summary_not_sent" not in events


def test_too_much_is_cut_and_the_rest_of_the_job_has_no_room(tmp_path: Path) -> None:
    much = 'head -c 700000 /dev/zero | tr "\\\\0" x >> "$GITHUB_STEP_SUMMARY"'
    workflow = f"on: push\njobs:\n  a:\n    runs-on: linux\n    steps:\n      - run: {much}\n      - run: {much}\n"
    (shown,) = played(tmp_path, workflow)
    html = shown["summaryHTML"]
    assert html.rstrip().endswith("(cut off here: the summaries of a job may have 1 MiB)\n</pre>")
    assert 1_000_000 < len(html) < 1_100_000


def test_summary_that_is_no_file_any_more_is_a_warning_and_no_failure(tmp_path: Path) -> None:
    async def scenario() -> tuple[str, list[str]]:
        async with MockGitea(profile="gitea-1.27") as server:
            replace = 'rm "$GITHUB_STEP_SUMMARY"; ln -s /etc/hostname "$GITHUB_STEP_SUMMARY"'
            run = server.enqueue(f"on: push\njobs:\n  a:\n    runs-on: linux\n    steps:\n      - run: '{replace}'\n")
            async with running(server, tmp_path, known=server.new_runner(), report_close_timeout="10s"):
                status = await run.wait_async(30)
            return status, await asyncio.to_thread(run.log, "a")

    status, log = asyncio.run(scenario())
    assert status == "success"
    assert [row for row in log if "GITHUB_STEP_SUMMARY is not sent" in row and row.startswith("##[warning]")]


def test_cancelled_job_sends_none(tmp_path: Path) -> None:
    step = 'echo text >> "$GITHUB_STEP_SUMMARY"; echo waiting; sleep 60'
    workflow = f"on: push\njobs:\n  a:\n    runs-on: linux\n    steps:\n      - run: '{step}'\n"
    assert played(tmp_path, workflow, cancel=True) == []
