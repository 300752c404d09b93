import re

from labdocs import lab_document, recovery, result
from mockgitea.lab.html_report import html_text

HOSTILE = '<script>alert("x")</script>'


def test_the_report_needs_nothing_from_outside() -> None:
    page = html_text(lab_document(result("fixed", 30.0), result("single", 3.0)))
    assert "default-src 'none'" in page
    assert not re.search(r"<script|<link|<img|https?://|\son\w+=|style=", page)
    assert page.count("<svg") >= 4
    assert "fixed makes 30.00 requests a second, single 3.00: 90.0% less." in page


def test_names_are_escaped_everywhere() -> None:
    content = lab_document(result(HOSTILE, 30.0), result("single", 3.0), name=HOSTILE)
    assert "<script" not in html_text(content)


def test_a_downtime_is_shaded_and_its_recovery_plotted() -> None:
    window = recovery(kind="refused", start_s=1.0, end_s=2.0)
    page = html_text(lab_document(result("fixed", 30.0, recoveries=[window])))
    assert 'class="down"' in page
    assert "After the outage" in page
    assert "refused, until 2 s" in page


def test_a_missed_closed_form_is_told() -> None:
    check = {"method": "total", "low": 1.0, "high": 2.0, "measured": 3.0, "allowed": 0.1, "passes": False}
    page = html_text(lab_document(result("fixed", 3.0, expected=[check])))
    assert "differs" in page
    assert "1.00 to 2.00" in page


def test_claims_that_the_run_can_judge_stand_in_the_report_and_others_do_not() -> None:
    headline = lab_document(result("fixed", 1300.0), result("single", 159.0), name="headline")
    page = html_text(headline)
    assert "about 1,300 requests/s" in page
    assert '<td class="good">confirmed</td>' in page
    assert "<code>single</code>: cap of 60 s" in page
    assert "not measured" not in page
    assert "<h2>Claims</h2>" not in html_text(lab_document(result("fixed", 30.0)))


def test_every_plot_says_in_words_what_it_shows() -> None:
    window = recovery(start_s=1.0, end_s=2.0)
    page = html_text(
        lab_document(result("fixed", 30.0, recoveries=[window]), result("single", 3.0, recoveries=[window]))
    )
    told = re.findall(r'<svg [^>]*aria-label="([^"]+)"', page)
    assert len(told) == page.count("<svg ")
    assert "fixed 4 on average, at most 6; single 4 on average, at most 6; server down from 1 s to 2 s" in told[0]
    assert any("single: half within 1 s, all within 3 s" in text for text in told)
    assert any("fixed: 20 in the busiest second" in text for text in told)
    assert "connections opened: fixed 200, single 200" in told[-1]
