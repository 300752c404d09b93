from typing import Any

import pytest

from labdocs import lab_document, recovery, result
from mockgitea.lab.claims import CLAIMS, Documents, judged, markdown


def verdicts(documents: Documents, text: str) -> list[str]:
    """Return the verdicts of claims whose measured text holds ``text``."""
    return [row.verdict for row in judged(documents) if text in row.measured]


def fetches(strategy: str, per_s: float) -> dict[str, Any]:
    return result(strategy, per_s, runners=3, rates={"FetchTask": per_s, "total": per_s})


def outage(**recoveries: dict[str, Any]) -> dict[str, Any]:
    found = [result(name.replace("_", "-"), 3.0, recoveries=[one]) for name, one in recoveries.items()]
    return lab_document(*found, name="outage")


def seconds(p50_s: float) -> dict[str, float]:
    return {"p50_s": p50_s}


def test_claims_without_documents_are_not_measured() -> None:
    rows = judged({})
    assert len(rows) == len(CLAIMS)
    assert {row.verdict for row in rows} == {"not measured"}


def test_a_headline_of_a_smaller_fleet_is_scaled_to_two_hundred_runners() -> None:
    headline = lab_document(result("fixed", 65.0, runners=10), result("single", 8.0, runners=10), name="headline")
    rows = judged({"headline": headline})
    assert (rows[0].measured, rows[0].verdict) == ("1,300 requests/s (10 runners, scaled to 200)", "confirmed")
    assert (rows[1].measured, rows[1].verdict) == (
        "160 requests/s (10 runners, scaled to 200), 87.7% less",
        "confirmed",
    )


def test_a_claim_that_the_figures_contradict_is_told() -> None:
    headline = lab_document(result("fixed", 1000.0), result("single", 900.0), name="headline")
    rows = judged({"headline": headline})
    assert [row.verdict for row in rows[:2]] == ["differs", "differs"]
    assert "| **differs** |" in markdown(rows)


def test_a_baseline_without_requests_judges_nothing() -> None:
    headline = lab_document(result("fixed", 0.0), result("single", 900.0), name="headline")
    assert judged({"headline": headline})[1].verdict == "not measured"


@pytest.mark.parametrize(("stored_s", "verdict"), [(0.9, "confirmed"), (1.1, "differs")])
def test_steps_are_visible_at_once_when_the_server_hears_of_them_within_a_second(stored_s: float, verdict: str) -> None:
    single = result("single", 159.0, steps_stored={"max_s": stored_s}, steps_visible={"max_s": stored_s + 0.9})
    assert verdicts({"headline": lab_document(single, name="headline")}, "to the page") == [verdict]


@pytest.mark.parametrize(("each", "verdict"), [(3.0, "confirmed"), (0.05, "differs")])
def test_polls_multiply_when_three_runners_ask_like_a_hundred_and_eighty(each: float, verdict: str) -> None:
    content = lab_document(fetches("fixed", 1.5), fetches("per-worker", each), fetches("single", 0.05))
    assert verdicts({"capacity-60": content}, "fetches a cycle") == [verdict]


@pytest.mark.parametrize(("coded", "verdict"), [(0.0, "not as coded"), (1.5, "differs")])
def test_full_runners_ask_only_as_it_was_said(coded: float, verdict: str) -> None:
    content = lab_document(
        fetches("fixed", coded),
        fetches("per-worker", 0.0),
        fetches("fixed-claimed", 1.5),
        fetches("per-worker-claimed", 3.0),
    )
    assert verdicts({"capacity-60-full": content}, "as coded") == [verdict]


@pytest.mark.parametrize(("single", "current", "verdict"), [(3, 0, "confirmed"), (2, 0, "differs"), (3, 1, "differs")])
def test_silent_jobs_are_reaped_only_without_heartbeats(single: int, current: int, verdict: str) -> None:
    tasks = [
        result(name, 0.1, tasks={"assigned": 3, "reaped": reaped})
        for name, reaped in (("single", single), ("current", current))
    ]
    assert verdicts({"silent": lab_document(*tasks)}, "reaped") == [verdict]


@pytest.mark.parametrize(
    ("bare", "mixed", "verdict"), [(200, 9, "confirmed"), (12, 9, "differs"), (200, 90, "differs")]
)
def test_a_herd_is_the_whole_fleet_in_one_second(bare: int, mixed: int, verdict: str) -> None:
    content = outage(single_no_jitter=recovery(busiest_second=bare), single=recovery(busiest_second=mixed))
    assert verdicts({"outage": content}, "busiest second of 200") == [verdict]


@pytest.mark.parametrize(("one_s", "verdict"), [(4.0, "confirmed"), (88.0, "differs")])
def test_one_counter_lets_the_second_poll_come_early(one_s: float, verdict: str) -> None:
    content = outage(
        single_one_counter=recovery(second_poll=seconds(one_s)), single=recovery(second_poll=seconds(90.0))
    )
    assert verdicts({"outage": content}, "second poll") == [verdict]


@pytest.mark.parametrize(
    ("row", "tick", "verdict"), [(42.0, 7.0, "confirmed"), (30.0, 7.0, "differs"), (42.0, 30.0, "differs")]
)
def test_a_storm_is_more_than_fixed_sends(row: float, tick: float, verdict: str) -> None:
    rates = {"fixed": 32.5, "current-every-row": row, "current": tick}
    found = [result(name, 3.0, recoveries=[recovery(tried_during_per_s=rate)]) for name, rate in rates.items()]
    assert verdicts({"outage-running": lab_document(*found)}, "while down") == [verdict]


@pytest.mark.parametrize(("ten", "verdict"), [(40, "confirmed"), (4000, "differs")])
def test_connections_are_churned_when_two_are_kept(ten: int, verdict: str) -> None:
    found = [
        result(name, 3.0, connections={"opened": opened}) for name, opened in (("fixed", 6000), ("fixed-tuned", ten))
    ]
    assert verdicts({"connections": lab_document(*found)}, "opened by") == [verdict]


def test_an_outage_that_was_not_reached_is_not_measured() -> None:
    content = lab_document(result("single", 3.0), result("single-no-jitter", 3.0), name="outage")
    assert verdicts({"outage": content}, "no outage within the time measured") == ["not measured"] * 1
