from labdocs import lab_document, result
from mockgitea.lab.claims import CLAIMS, judged, markdown


def test_claims_without_documents_are_not_measured() -> None:
    rows = judged({})
    assert len(rows) == len(CLAIMS)
    assert {row.verdict for row in rows} == {"not measured"}


def test_a_headline_of_a_smaller_fleet_is_scaled_to_two_hundred_runners() -> None:
    headline = lab_document(result("fixed", 65.0, runners=10), result("single", 8.0, runners=10), name="headline")
    rows = judged({"headline": headline})
    assert (rows[0].measured, rows[0].verdict) == ("1,300 requests/s", "confirmed")
    assert (rows[1].measured, rows[1].verdict) == ("160 requests/s, 87.7% less", "confirmed")


def test_a_claim_that_the_figures_contradict_is_told() -> None:
    headline = lab_document(result("fixed", 1000.0), result("single", 900.0), name="headline")
    rows = judged({"headline": headline})
    assert [row.verdict for row in rows[:2]] == ["differs", "differs"]
    assert "| **differs** |" in markdown(rows)
