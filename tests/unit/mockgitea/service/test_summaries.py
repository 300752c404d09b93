"""Who may write a job summary: signed tokens are judged by the server's clock and the server's own secret."""

from typing import Any

import jwt
import pytest

from lifecycle import Bench, on_bench
from mockgitea.core.errors import BadAuthorization, ServerFault
from mockgitea.service.summaries import Summary
from mockgitea.storage.signing import signing_secret

ONE = "jobs: {build: {runs-on: linux, steps: [{run: x}]}}"
SUMMARY = Summary(run_id=1, job_id=1, step=0, content_type="text/markdown", body=b"x")


async def signed(bench: Bench, **changed: Any) -> str:
    """Enqueue and fetch a job; return its runtime token, signed again after a change of its claims."""
    await bench.enqueue(ONE)
    token = (await bench.fetch_some()).context["gitea_runtime_token"]
    secret = await bench.services.store.read(signing_secret)
    claims = jwt.decode(token, options={"verify_signature": False})
    return jwt.encode(claims | changed, str(secret), algorithm="HS256")


def test_token_of_a_running_task_is_taken_until_its_time_is_over() -> None:
    async def body(bench: Bench) -> None:
        clock = bench.services.clock
        token = await signed(bench)
        life_s = jwt.decode(token, options={"verify_signature": False})["exp"] - clock.now_us() // 1_000_000
        assert await bench.services.summaries.put(f"Bearer {token}", SUMMARY) == 1
        assert await bench.services.summaries.put(f"bearer  {token}", SUMMARY) == 1
        clock.advance(life_s - 1)
        assert await bench.services.summaries.put(f"Bearer {token}", SUMMARY) == 1
        clock.advance(1)
        with pytest.raises(ServerFault):
            await bench.services.summaries.put(f"Bearer {token}", SUMMARY)

    on_bench("gitea-1.27", body)


@pytest.mark.parametrize("changed", [{"nbf": 1 << 40}, {"exp": 0}, {"TaskID": 77}])
def test_token_that_is_early_late_or_of_no_task_is_refused(changed: dict[str, Any]) -> None:
    async def body(bench: Bench) -> None:
        token = await signed(bench, **changed)
        with pytest.raises(ServerFault):
            await bench.services.summaries.put(f"Bearer {token}", SUMMARY)

    on_bench("gitea-1.27", body)


@pytest.mark.parametrize("header", ["", "Basic eA==", "bearer"])
def test_header_without_a_bearer_token_is_refused_in_words(header: str) -> None:
    async def body(bench: Bench) -> None:
        with pytest.raises(BadAuthorization, match="Bad authorization header"):
            await bench.services.summaries.put(header, SUMMARY)

    on_bench("gitea-1.27", body)


def test_signed_token_is_refused_where_nothing_has_been_signed() -> None:
    async def body(bench: Bench) -> None:
        with pytest.raises(ServerFault):
            await bench.services.summaries.put("Bearer a.b.c", SUMMARY)

    on_bench("gitea-1.27", body)
