"""Which routes each profile has, and how the rest is refused."""

from collections.abc import Callable

import pytest

from mockgitea.core.profiles import PROFILES
from restapi import Rest

REPO = "/repos/demo/demo/actions"
GITEA = {"gitea-1.20", "gitea-1.21", "gitea-1.25", "gitea-1.27", "gitea-next"}
NEW_GITEA = {"gitea-1.25", "gitea-1.27", "gitea-next"}
PRESENT: list[tuple[str, str, set[str]]] = [
    ("GET", "/version", set(PROFILES)),
    ("GET", f"{REPO}/runners/registration-token", set(PROFILES) - {"gitea-1.27", "gitea-next"}),
    ("POST", f"{REPO}/runners/registration-token", NEW_GITEA),
    ("GET", "/admin/runners/registration-token", set(PROFILES) - {"gitea-1.27", "gitea-next"}),
    ("GET", f"{REPO}/runners", NEW_GITEA | {"forgejo-15"}),
    ("GET", "/user/actions/runners", NEW_GITEA | {"forgejo-15"}),
    ("GET", "/orgs/demo/actions/runners", NEW_GITEA | {"forgejo-15"}),
    ("GET", "/admin/actions/runners", NEW_GITEA | {"forgejo-15"}),
    ("POST", f"{REPO}/runners", {"forgejo-15"}),
    ("GET", f"{REPO}/runners/jobs", {"forgejo-15"}),
    ("GET", "/admin/runners/jobs", {"forgejo-15"}),
    ("GET", f"{REPO}/runs", NEW_GITEA | {"forgejo-15"}),
    ("GET", "/admin/actions/runs", NEW_GITEA),
    ("GET", f"{REPO}/jobs", NEW_GITEA),
    ("GET", f"{REPO}/tasks", set(PROFILES)),
    ("GET", f"{REPO}/workflows", NEW_GITEA),
    ("GET", f"{REPO}/artifacts", NEW_GITEA),
    ("GET", f"{REPO}/secrets", set(PROFILES)),
    ("GET", "/orgs/demo/actions/secrets", set(PROFILES)),
    ("GET", "/user/actions/secrets", set()),
    ("GET", "/admin/actions/secrets", set()),
    ("GET", "/user/actions/variables", set(PROFILES)),
    ("GET", "/admin/actions/variables", set()),
    ("GET", "/nope", set()),
]


@pytest.mark.parametrize("profile", list(PROFILES))
def test_profile_has_exactly_its_routes(with_rest: Callable[..., None], profile: str) -> None:
    async def body(rest: Rest) -> None:
        for verb, path, profiles in PRESENT:
            answer = await rest.client.request(verb, f"/api/v1{path}", json={"name": "r"} if verb == "POST" else None)
            if profile in profiles:
                assert answer.is_success, f"{profile}: {verb} {path} {answer.status_code} {answer.text}"
            else:
                assert answer.status_code in (404, 405), f"{profile}: {verb} {path} {answer.status_code}"
                assert set(answer.json()) == {"message", "url"}

    with_rest(body, profile)


RUN_ROUTES: list[tuple[str, str, set[str]]] = [
    ("GET", "", NEW_GITEA | {"forgejo-15"}),
    ("DELETE", "", NEW_GITEA),
    ("GET", "/jobs", NEW_GITEA),
    ("GET", "/artifacts", NEW_GITEA),
    ("GET", "/attempts/1", {"gitea-1.27", "gitea-next"}),
    ("GET", "/attempts/1/jobs", {"gitea-1.27", "gitea-next"}),
    ("POST", "/rerun", {"gitea-1.27", "gitea-next"}),
    ("POST", "/rerun-failed-jobs", {"gitea-1.27", "gitea-next"}),
    ("POST", "/jobs/1/rerun", {"gitea-1.27", "gitea-next"}),
    ("POST", "/cancel", {"gitea-next"}),
    ("POST", "/force-cancel", {"gitea-next"}),
    ("POST", "/approve", {"gitea-next"}),
    ("GET", "/logs", {"gitea-next"}),
]


@pytest.mark.parametrize("profile", list(PROFILES))
def test_profile_has_exactly_its_routes_of_a_run(with_rest: Callable[..., None], profile: str) -> None:
    async def body(rest: Rest) -> None:
        for verb, path, profiles in RUN_ROUTES:
            made = await rest.enqueue()
            answer = await rest.client.request(verb, f"/api/v1{REPO}/runs/{made.run_id}{path}")
            is_there = answer.status_code not in (404, 405)
            is_there = is_there or answer.json()["message"] == "workflow job not found"
            assert is_there == (profile in profiles), f"{profile}: {verb} {path} {answer.status_code} {answer.text}"

    with_rest(body, profile)


def test_wrong_method_on_a_known_path_is_405_with_allow(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        answer = await rest.client.put("/api/v1/repos/demo/demo/actions/runners")
        assert answer.status_code == 405
        assert answer.headers["allow"] == "GET, HEAD"

    with_rest(body)


@pytest.mark.parametrize(
    "path",
    [
        "/repos/no/where/actions/runs",
        "/repos/demo/nope/actions/runners",
        "/orgs/nope/actions/runners",
        f"{REPO}/runs/99",
        f"{REPO}/runs/x",
        f"{REPO}/runs/99999999999999999999999999",
        f"{REPO}/runs/99/jobs",
        f"{REPO}/runs/99/attempts/1",
        f"{REPO}/jobs/99",
        f"{REPO}/jobs/99/logs",
        f"{REPO}/runners/99",
        f"{REPO}/workflows/nope.yaml",
        f"{REPO}/variables/nope",
    ],
)
def test_unknown_thing_is_404_in_giteas_shape(with_rest: Callable[..., None], path: str) -> None:
    async def body(rest: Rest) -> None:
        answer = await rest.call("GET", path, expect=404)
        assert set(answer) == {"message", "url"}
        assert answer["url"] == "http://gitea.test/api/swagger"

    with_rest(body)


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["gitea-1.25", "gitea-next", "forgejo-15"])
@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff", b'{"a": ' * 9000, b'{"ref": 1, "data": [], "value": {}}']
)
def test_junk_never_makes_a_500(with_rest: Callable[..., None], profile: str, content: bytes) -> None:
    async def body(rest: Rest) -> None:
        await rest.enqueue()
        for route in rest.routes:
            path = route.path.replace("{path:path}", "x")
            for name in ("{owner}/{repo}", "{org}"):
                path = path.replace(name, "demo/demo" if "/" in name else "demo")
            for value in ("1", "-1", "%00", "9" * 40):
                filled = "/".join(value if part.startswith("{") else part for part in path.split("/"))
                for verb in route.methods:
                    query = f"page={value}&limit={value}&status=queued&labels={value}"
                    answer = await rest.client.request(verb, f"{filled}?{query}", content=content)
                    assert answer.status_code < 500, f"{verb} {filled} {answer.status_code} {answer.text}"

    with_rest(body, profile)


def test_body_over_the_limit_is_413(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        path = f"{REPO}/variables/big"
        answer = await rest.call("POST", path, content=b" " * (4 * 1024 * 1024 + 1), expect=413)
        assert set(answer) == {"message", "url"}

    with_rest(body)
