"""The page as a person sees it: live rows, folding, colours, hostile content, keyboard, small screens, cadence."""

import itertools
import json
from collections.abc import Iterator

import pytest

from actionswire.result import Status
from chromium import Chromium
from pagedata import START_US, Seed
from pageserver import PageServer

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HOSTILE = "<img src=x onerror=\"window.broken='yes'\"><script>window.broken='yes'</script>"
ROWS = [
    "::group::Collected \x1b[1m3\x1b[0m files", "inside", "::endgroup::", "plain \x1b[31mred\x1b[0m end",
    "##[error]it failed", "::warning file=a.py::careful", "::add-matcher::x.json", HOSTILE, "\x1b[38;5;208morange",
]  # fmt: skip
STEP = "document.querySelectorAll('button.step-head')[{}]"


def fill(seed: Seed) -> dict[str, int]:
    run = seed.run(seed.repository(), number=3, title=HOSTILE)
    seed.attempt(run)
    job = seed.job(run, name=f"build {HOSTILE}")
    seed.job(run, name="deploy", job_id="deploy", needs=["build"], status=int(Status.BLOCKED), started_us=0)
    task = seed.task(job)
    seed.step(task, 0, name=HOSTILE, status=int(Status.RUNNING), log_index=1, log_length=len(ROWS), started_us=START_US)
    seed.step(task, 1)
    seed.rows(task, 0, ["set up"])
    seed.rows(task, 1, ROWS)
    return {"run": run, "job": job, "task": task}


@pytest.fixture(params=["gitea-1.25", "gitea-1.27", "forgejo-15"])
def server(request: pytest.FixtureRequest) -> Iterator[PageServer]:
    with PageServer(request.param, fill) as server:
        yield server


@pytest.fixture
def gitea() -> Iterator[PageServer]:
    with PageServer("gitea-1.27", fill) as server:
        yield server


def open_job(browser: Chromium, server: PageServer) -> None:
    browser.open(f"{server.url}/runs/{server.ids['run']}/jobs/{server.ids['job']}")
    browser.wait_for("document.querySelectorAll('button.step-head').length === 4")


def finish(server: PageServer) -> None:
    def intent(tx: object) -> None:
        for table in ("step", "task", "job", "run"):
            tx.conn.exec_driver_sql(f"UPDATE {table} SET status = 1, stopped_us = {START_US + 5_000_000}")  # type: ignore[attr-defined]  # a Tx

    server.change(intent)


def test_job_page_shows_rows_of_an_opened_step_with_commands_colours_and_folds(
    browser: Chromium, server: PageServer
) -> None:
    path = browser_path(server)
    browser.open(server.url + path)
    browser.wait_for("document.querySelectorAll('button.step-head').length === 4")
    assert browser.ask("document.querySelectorAll('.row').length") == 0, "steps start collapsed"
    browser.ask(f"{STEP.format(1)}.click()")
    browser.wait_for("document.querySelectorAll('.row').length === 7")
    numbers = browser.ask("[...document.querySelectorAll('.row .num')].map((cell) => cell.textContent)")
    assert numbers == ["1", "2", "4", "5", "6", "8", "9"], "endgroup and matcher rows are hidden, numbers stay"
    assert browser.ask("document.querySelector('.rows details').open") is False
    assert browser.ask("document.querySelector('.rows details .bold').textContent") == "3"
    assert browser.ask("document.querySelector('.rows .fg-1').textContent") == "red"
    assert browser.ask("document.querySelector('.row.error .text').textContent") == "Error:it failed"
    assert browser.ask("document.querySelector('.row.warning .text').textContent") == "Warning:careful"
    colour = browser.ask("getComputedStyle([...document.querySelectorAll('.row .text span')].at(-1)).color")
    assert colour == "rgb(255, 135, 0)"
    assert browser.complaints == []


def browser_path(server: PageServer) -> str:
    ids, style = server.ids, server.services.profile.page_urls
    base = "/demo/app/actions/runs"
    return {
        "ids": f"{base}/{ids['run']}/jobs/{ids['job']}",
        "index": f"{base}/3/jobs/0",
        "attempt": f"{base}/3/jobs/0/attempt/1",
    }[style]


def test_hostile_rows_and_names_stay_text(browser: Chromium, gitea: PageServer) -> None:
    open_job(browser, gitea)
    browser.ask(f"{STEP.format(1)}.click()")
    browser.wait_for("document.querySelectorAll('.row').length === 7")
    assert HOSTILE in browser.ask("document.querySelector('.rows').textContent + document.title")
    assert browser.ask("window.broken ?? 'no'") == "no"
    assert browser.ask("document.querySelectorAll('main img, main script').length") == 0
    assert browser.complaints == []


def test_first_request_has_no_cursors_and_polling_stops_when_the_run_is_done(
    browser: Chromium, gitea: PageServer
) -> None:
    open_job(browser, gitea)
    assert json.loads(gitea.polls[0][1]) == {"logCursors": []}
    browser.ask(f"{STEP.format(1)}.click()")
    browser.wait_for("document.querySelectorAll('.row').length === 7")
    browser.wait_for("performance.getEntriesByType('resource').length > 6")
    last = json.loads(gitea.polls[-1][1])["logCursors"]
    assert last[0] == {"step": 0, "cursor": None, "expanded": False}
    assert last[1] == {"step": 1, "cursor": len(ROWS), "expanded": True}
    polled_at = [at for at, _ in gitea.polls]
    assert max(later - earlier for earlier, later in itertools.pairwise(polled_at)) > 0.8
    finish(gitea)
    browser.wait_for("document.getElementById('page').dataset.done === 'true'")
    assert browser.ask("document.querySelector('[data-job-status]').textContent") == "Success"


def test_new_rows_appear_once_under_an_opened_step(browser: Chromium, gitea: PageServer) -> None:
    open_job(browser, gitea)
    browser.ask(f"{STEP.format(1)}.click()")
    browser.wait_for("document.querySelectorAll('.row').length === 7")

    def more(tx: object) -> None:
        Seed(tx.conn).rows(gitea.ids["task"], 1 + len(ROWS), ["late one", "late two"])  # type: ignore[attr-defined]  # a Tx
        tx.conn.exec_driver_sql("UPDATE step SET log_length = log_length + 2 WHERE number = 0")  # type: ignore[attr-defined]  # a Tx

    gitea.change(more)
    browser.wait_for("document.querySelectorAll('.row').length === 9")
    assert browser.ask("[...document.querySelectorAll('.row .text')].at(-1).textContent") == "late two"


def test_steps_open_by_keyboard_and_say_so(browser: Chromium, gitea: PageServer) -> None:
    open_job(browser, gitea)
    assert browser.ask(f"{STEP.format(2)}.disabled"), "a waiting step cannot be opened"
    browser.ask(f"{STEP.format(1)}.focus()")
    browser.press("Enter")
    browser.wait_for(f"{STEP.format(1)}.getAttribute('aria-expanded') === 'true'")
    browser.wait_for("document.querySelectorAll('.row').length === 7")
    browser.press("Enter")
    browser.wait_for(f"{STEP.format(1)}.getAttribute('aria-expanded') === 'false'")
    assert browser.ask("document.getElementById('rows-1').hidden")


@pytest.mark.parametrize("dark", [False, True])
def test_pages_fit_a_small_screen_in_both_schemes(browser: Chromium, gitea: PageServer, *, dark: bool) -> None:
    browser.resize(380, 800, dark=dark)
    for path in ("/", "/runners", f"/runs/{gitea.ids['run']}"):
        browser.open(gitea.url + path)
        assert browser.ask("document.documentElement.scrollWidth") <= 380, path
    open_job(browser, gitea)
    browser.ask(f"{STEP.format(1)}.click()")
    browser.wait_for("document.querySelectorAll('.row').length === 7")
    assert browser.ask("document.documentElement.scrollWidth") <= 380
    lightness = browser.ask("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]")
    assert (int(lightness) < 128) is dark


def test_buttons_appear_as_the_run_allows_and_do_their_work(browser: Chromium, server: PageServer) -> None:
    browser.open(server.url + browser_path(server))
    browser.wait_for("!document.querySelector('[data-action=cancel]').hidden")
    assert browser.ask("document.querySelector('[data-action=rerun]').hidden")
    browser.ask("document.querySelector('[data-action=cancel]').click()")
    calls = server.services.runs.calls
    browser.wait_for("performance.getEntriesByName(location.origin + document.querySelector('[data-actions]')"
                     ".dataset.actions + '/cancel').length === 1")  # fmt: skip
    assert calls == [("cancel", (server.ids["run"], False))]


def test_run_page_follows_its_jobs(browser: Chromium, gitea: PageServer) -> None:
    browser.open(f"{gitea.url}/runs/{gitea.ids['run']}")
    states = "[...document.querySelectorAll('.jobs .status .word')].map((word) => word.textContent).join()"
    browser.wait_for(f"{states} === 'Running,Blocked'")
    finish(gitea)
    browser.wait_for(f"{states} === 'Success,Success'")


def test_list_of_runs_refreshes_itself(browser: Chromium, gitea: PageServer) -> None:
    browser.open(f"{gitea.url}/")
    browser.wait_for("document.querySelector('.runs .word').textContent === 'Running'")
    finish(gitea)
    browser.wait_for("document.querySelector('.runs .word').textContent === 'Success'")
