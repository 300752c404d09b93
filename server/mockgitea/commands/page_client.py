"""The page's JSON over HTTP, in every release's style of URL: one run, its jobs, one request at a time.

Through the control port runs and jobs are named by row ids; through the runner port (or a real Gitea or Forgejo) by
that server's own rules, which its version tells.
"""

import re
from typing import Any, Final
from urllib.parse import quote

import httpx

from mockgitea.commands.client import TOKEN_ENV
from mockgitea.commands.watch_follow import JobState

TIMEOUT_S: Final = 10.0
_TOKENS: Final = (
    re.compile(r'name="_csrf" content="([^"]+)"'),
    re.compile(r"csrfToken: '([^']+)'"),
)
_IDS_SINCE: Final = (1, 26)
_ATTEMPTS_SINCE: Final = 13


class WatchFailed(Exception):
    """Following is not possible; the text says why and what to do. ``is_passing``: trying again may help."""

    def __init__(self, message: str, *, is_passing: bool = False) -> None:
        super().__init__(message)
        self.is_passing = is_passing


class PageClient:
    """Asks one server about one run.

    Args:
        server: URL of the control port, or of the runner port together with ``repository``.
        run: id or number of the run, as the server's URLs name it.
        repository: `owner/name`; empty = through the control port.
        token: control token, for the control port only; empty when it asks for none.
        transport: replaces the network in tests.
    """

    def __init__(
        self,
        server: str,
        run: str,
        *,
        repository: str = "",
        token: str = "",
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        if not server.startswith(("http://", "https://")):
            raise WatchFailed(f"--server: {server!r} must begin with http:// or https://")
        try:
            headers = {"Authorization": f"Bearer {token}"} if token and not repository else {}
            self._http = httpx.Client(base_url=server, headers=headers, timeout=TIMEOUT_S, transport=transport)
        except (httpx.InvalidURL, ValueError) as error:
            raise WatchFailed(f"--server: {server!r} is no URL ({error})") from error
        self._server = server
        self._run = run
        owner, _, name = repository.partition("/")
        self._base = f"/{quote(owner, safe='')}/{quote(name, safe='')}/actions" if repository else ""
        self._style = ""
        self._headers: dict[str, str] = {}

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def run(self) -> dict[str, Any]:
        """Return the state of the run; the first call finds out how this server names things.

        Raises:
            WatchFailed: no such run, no such server, or an answer that is not the page's.
        """
        if not self._style:
            self._style = self._find_style() if self._base else "control"
            self._headers = self._csrf()
        first = JobState(position=0, id=0, name="")
        if self._style in ("index", "attempt"):
            return self._post(self._job_path(first), [])
        return self._post(f"{self._base}/runs/{quote(self._run, safe='')}", None)

    def job(self, job: JobState) -> dict[str, Any]:
        """Return the state of a job, with the rows its cursors ask for.

        Raises:
            WatchFailed: see `run`.
        """
        return self._post(self._job_path(job), job.cursors())

    def _job_path(self, job: JobState) -> str:
        run = f"{self._base}/runs/{quote(self._run, safe='')}"
        if self._style in ("control", "ids"):
            return f"{run}/jobs/{job.id}"
        path = f"{run}/jobs/{job.position}"
        return f"{path}/attempt/{job.attempt}" if self._style == "attempt" else path

    def _find_style(self) -> str:
        answer = self._send("GET", "/api/v1/version")
        try:
            version = str(answer.json()["version"])
            numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
        except (ValueError, KeyError, TypeError) as error:
            raise WatchFailed(
                f"{self._server} tells no Gitea version; with --repository, --server is the runner port's URL"
            ) from error
        if "+gitea-" in version:
            return "attempt" if numbers >= (_ATTEMPTS_SINCE,) else "index"
        return "ids" if numbers >= _IDS_SINCE else "index"

    def _csrf(self) -> dict[str, str]:
        if self._style != "index":
            return {}
        page = self._send("GET", f"{self._base}/runs/{quote(self._run, safe='')}").text
        found = next((match[1] for token in _TOKENS if (match := token.search(page))), "")
        return {"X-Csrf-Token": found} if found else {}

    def _post(self, path: str, cursors: list[dict[str, Any]] | None) -> dict[str, Any]:
        answer = self._send("POST", path, {} if cursors is None else {"logCursors": cursors})
        try:
            page: dict[str, Any] = answer.json()
        except ValueError as error:
            raise WatchFailed(f"{self._server}{path}: the answer is not JSON") from error
        if not _is_page(page):
            raise WatchFailed(f"{self._server}{path}: the answer is not the page's JSON")
        return page

    def _send(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        try:
            answer = self._http.request(method, path, json=body, headers=self._headers)
        except httpx.TransportError as error:
            raise WatchFailed(f"{self._server}: cannot be reached ({error})", is_passing=True) from error
        if answer.status_code == 404:
            hint = "" if self._base else "; through the runner port, name the --repository too"
            raise WatchFailed(f"run {self._run}: not found at {self._server}{hint}")
        if answer.status_code == 401:
            raise WatchFailed(f"{self._server} asks for its control token; put it into {TOKEN_ENV}")
        if answer.is_error:
            text = answer.text.strip()[:200]
            raise WatchFailed(
                f"{self._server}{path}: answered {answer.status_code} ({text})", is_passing=answer.status_code >= 500
            )
        return answer


def _is_page(answer: object) -> bool:
    """Tell whether an answer has the parts that a follower reads, which are the same in every release."""
    if not isinstance(answer, dict) or not isinstance(state := answer.get("state"), dict):
        return False
    run, job, logs = state.get("run"), state.get("currentJob"), answer.get("logs")
    return isinstance(run, dict) and {"done", "status", "title", "jobs"} <= run.keys() and bool(job) and bool(logs)
