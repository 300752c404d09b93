"""Where the links of the page lead, per style of URL.

Gitea >= 1.26 names runs and jobs by row ids, older servers by the run's number and the job's position, Forgejo >= v13
adds the attempt. Paths are absolute on the runner port and carry no host.
Source: docs/protocol.md, "Page".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from mockgitea.core.profiles import PageUrls

_HEADS: Final = "refs/heads/"
_TAGS: Final = "refs/tags/"
_PULL: Final = "refs/pull/"


@dataclass(frozen=True, slots=True)
class PageLinks:
    """Links below one repository."""

    owner: str
    name: str
    style: PageUrls

    @property
    def repository(self) -> str:
        """Path of the repository."""
        return f"/{quote(self.owner, safe='')}/{quote(self.name, safe='')}"

    @property
    def actions(self) -> str:
        """Path of the repository's list of runs."""
        return f"{self.repository}/actions"

    def run(self, run: Mapping[str, Any]) -> str:
        """Path of a run, without job or attempt."""
        return f"{self.actions}/runs/{run['id' if self.style is PageUrls.IDS else 'number']}"

    def attempt(self, run: Mapping[str, Any], number: int) -> str:
        """Path of one attempt's summary."""
        return f"{self.run(run)}/attempts/{number}"

    def job(self, run: Mapping[str, Any], job: Mapping[str, Any], index: int) -> str:
        """Path of a job: by id, by its 0-based position ``index``, or that with the attempt."""
        if self.style is PageUrls.IDS:
            return f"{self.run(run)}/jobs/{job['id']}"
        path = f"{self.run(run)}/jobs/{index}"
        return f"{path}/attempt/{job['attempt']}" if self.style is PageUrls.ATTEMPT else path

    def workflow(self, run: Mapping[str, Any]) -> str:
        """Path of the list of a workflow's runs."""
        return f"{self.actions}/?workflow={quote(run['workflow_file'], safe='')}"

    def commit(self, sha: str) -> str:
        """Path of a commit."""
        return f"{self.repository}/commit/{sha}"

    def user(self, name: str) -> str:
        """Path of a user's page."""
        return f"/{quote(name, safe='')}"

    def pull_request(self, number: int) -> str:
        """Path of a pull request."""
        return f"{self.repository}/pulls/{number}"

    def branch(self, ref: str) -> tuple[str, str]:
        """Return short name and path of a full ref name; a pull request's ref is shown as `#7`."""
        if ref.startswith(_PULL):
            number = ref.removeprefix(_PULL).split("/", 1)[0]
            return f"#{number}", f"{self.repository}/pulls/{quote(number)}"
        if ref.startswith(_TAGS):
            name = ref.removeprefix(_TAGS)
            return name, f"{self.repository}/src/tag/{quote(name)}"
        name = ref.removeprefix(_HEADS)
        return name, f"{self.repository}/src/branch/{quote(name)}"


def pull_number_of_ref(ref: str) -> int:
    """Return the pull request's number in a ref such as `refs/pull/7/head`, 0 for any other ref."""
    number = ref.removeprefix(_PULL).split("/", 1)[0] if ref.startswith(_PULL) else ""
    return int(number) if number.isascii() and number.isdigit() else 0
