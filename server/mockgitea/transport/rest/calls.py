"""One REST call as the handlers see it: scope, paging, body, links. Handlers take a `Call` and return a response."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mockgitea.core.errors import NotFound
from mockgitea.core.page_links import PageLinks
from mockgitea.core.profiles import Profile
from mockgitea.service.container import Services
from mockgitea.storage.repositories import RepositoryRecord, owner_id_of
from mockgitea.transport.rest.bodies import Body, read_body
from mockgitea.transport.rest.errors import not_found
from mockgitea.transport.rest.shapes import Links

PAGE_ROWS_DEFAULT: Final = 30
PAGE_ROWS_MAX: Final = 50
ID_MAX: Final = 2**63 - 1
_NOT_REPEATED: Final = frozenset(("page", "token", "access_token"))
"""Query parameters left out of `Link`: the page is replaced, and a token must not travel on."""
_TRUE_WORDS: Final = frozenset(("1", "t", "T", "true", "TRUE", "True"))


class ScopeKind(StrEnum):
    """The four prefixes below which runners, tokens, runs and jobs are found."""

    REPOSITORY = "/repos/{owner}/{repo}"
    ORGANIZATION = "/orgs/{org}"
    USER = "/user"
    ADMIN = "/admin"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a call is about; (0, 0) is the whole server."""

    owner_id: int
    repo_id: int


class Call:
    """A request with the services that answer it.

    Args:
        request: the request; its token has been checked.
        services: the running services.
        kind: the prefix it came in under.
    """

    def __init__(self, request: Request, services: Services, kind: ScopeKind) -> None:
        self.request = request
        self.services = services
        self.kind = kind
        self._repository: RepositoryRecord | None = None

    @property
    def profile(self) -> Profile:
        """The imitated release."""
        return self.services.profile

    @property
    def base_url(self) -> str:
        """URL of the server as the caller knows it, without a slash at the end."""
        return (self.services.settings.app_url or str(self.request.base_url)).rstrip("/")

    def path(self, name: str) -> str:
        """Return a part of the path."""
        return str(self.request.path_params[name])

    def number(self, name: str) -> int:
        """Return a numeric part of the path; 0, which no row has, for what is no number."""
        return _number(self.path(name))

    def query(self, name: str) -> str:
        """Return a query parameter; empty when absent."""
        return self.request.query_params.get(name, "")

    def queries(self, name: str) -> list[str]:
        """Return every value of a repeated query parameter, empty ones left out."""
        return [value for value in self.request.query_params.getlist(name) if value]

    def query_flag(self, name: str) -> bool:
        """Tell whether a query parameter says yes."""
        return self.query(name) in _TRUE_WORDS

    def query_number(self, name: str) -> int:
        """Return a numeric query parameter; 0 when absent or no number."""
        return _number(self.query(name))

    async def body(self) -> Body:
        """Read the body."""
        return await read_body(self.request)

    async def scope(self) -> Scope:
        """Return what the path is about. Raises 404 for an unknown repository or owner."""
        if self.kind is ScopeKind.REPOSITORY:
            return Scope(0, await self.repo_id())
        if self.kind is ScopeKind.ADMIN:
            return Scope(0, 0)
        name = self.path("org") if self.kind is ScopeKind.ORGANIZATION else token_owner(self.services)
        found = await self.services.store.read(lambda conn: owner_id_of(conn, name))
        if not found:
            raise not_found()
        return Scope(found, 0)

    async def repository(self) -> RepositoryRecord:
        """Return the repository in the path. Raises 404 for an unknown one."""
        if self._repository is None:
            try:
                self._repository = await self.services.repositories.get(f"{self.path('owner')}/{self.path('repo')}")
            except NotFound:
                raise not_found() from None
        return self._repository

    async def repo_id(self) -> int:
        """Return the number of the repository in the path. Raises 404 for an unknown one."""
        return (await self.repository()).id

    @property
    def page(self) -> tuple[int, int]:
        """(limit, offset) of a list: 1-based `page`, and `limit` rows, at most `PAGE_ROWS_MAX`."""
        wanted = self.query_number("limit")
        limit = PAGE_ROWS_DEFAULT if wanted < 1 else min(wanted, PAGE_ROWS_MAX)
        first = max(self.query_number("page"), 1) - 1
        return limit, min(first * limit, ID_MAX)

    def links(self, row: Mapping[str, Any]) -> Links:
        """Return the links for a row that carries `owner_name` and `repo_name`."""
        return Links(self.base_url, PageLinks(row["owner_name"], row["repo_name"], self.profile.page_urls))

    async def repository_links(self) -> Links:
        """Return the links of the repository in the path, spelled as it is stored."""
        record = await self.repository()
        return self.links({"owner_name": record.owner_name, "repo_name": record.name})

    def listed(self, content: object, total: int) -> JSONResponse:
        """Answer a list with its total in `X-Total-Count` and the neighbouring pages in `Link`."""
        headers = {"X-Total-Count": str(total)}
        if links := self._page_links(total):
            headers["Link"] = links
        return JSONResponse(content, headers=headers)

    def _page_links(self, total: int) -> str:
        limit, offset = self.page
        current, last = offset // limit + 1, max(-(-total // limit), 1)
        wanted: dict[str, int] = {}
        if current < last:
            wanted |= {"next": current + 1, "last": last}
        if current > 1:
            wanted |= {"first": 1, "prev": min(current - 1, last)}
        path = f"{self.base_url}{self.request.url.path}"
        others = [pair for pair in self.request.query_params.multi_items() if pair[0] not in _NOT_REPEATED]
        return ",".join(
            f'<{path}?{urlencode([*others, ("page", number)])}>; rel="{name}"' for name, number in wanted.items()
        )


Handler = Callable[[Call], Awaitable[Response]]


def empty(status: int) -> Response:
    """Answer with a status and no body."""
    return Response(status_code=status)


def token_owner(services: Services) -> str:
    """Return the owner whom the API token stands for: the owner of the first configured repository."""
    return services.settings.repositories[0].partition("/")[0] if services.settings.repositories else ""


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        return 0
    # Cut before converting: Python refuses to read a number of thousands of digits.
    return int(text) if len(text) <= len(str(ID_MAX)) and int(text) <= ID_MAX else 0
