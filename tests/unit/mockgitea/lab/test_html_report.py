import re

from labdocs import lab_document, result
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
    window = {"kind": "refused", "start_s": 1.0, "end_s": 2.0}
    recovery = {**window, "tenths": [0, 3, 1], "herd_index": 2.0, "tried_during_per_s": 4.0}
    page = html_text(lab_document(result("fixed", 30.0, recoveries=[recovery])))
    assert 'class="down"' in page
    assert "After the outage" in page
    assert "refused, until 2 s" in page


def test_a_missed_closed_form_is_told() -> None:
    check = {"method": "total", "low": 1.0, "high": 2.0, "measured": 3.0, "allowed": 0.1, "passes": False}
    page = html_text(lab_document(result("fixed", 3.0, expected=[check])))
    assert "differs" in page
    assert "1.00 to 2.00" in page
