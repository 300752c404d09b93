"""The laboratory's report as a browser shows it: nothing refused, light and dark, and no wider than a phone."""

from pathlib import Path

import pytest

from chromium import Chromium
from labdocs import lab_document, recovery, result
from mockgitea.lab.html_report import html_text

pytestmark = pytest.mark.browser

GROUND = "getComputedStyle(document.body).backgroundColor"
INK = "getComputedStyle(document.body).color"
SHADE = "getComputedStyle(document.querySelector('rect.down')).fill"


def brightness(colour: str) -> int:
    """Return the sum of a colour's red, green and blue."""
    return sum(int(part) for part in colour.partition("(")[2].rstrip(")").split(",")[:3])


def test_the_report_is_readable_in_light_and_dark_and_on_a_phone(browser: Chromium, tmp_path: Path) -> None:
    window = recovery(start_s=1.0, end_s=2.0)
    rows = [result(name, total, recoveries=[window]) for name, total in (("fixed", 1300.0), ("single", 159.0))]
    file = tmp_path / "report.html"
    file.write_text(html_text(lab_document(*rows, name="headline")))
    for scheme in ("light", "dark"):
        browser.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        browser.open(file.as_uri())
        ground, ink = brightness(browser.ask(GROUND)), brightness(browser.ask(INK))
        assert (ground > ink) is (scheme == "light")
        assert abs(ground - ink) > 450
        assert browser.ask(SHADE) not in ("none", "rgb(0, 0, 0)")
    browser.command("Emulation.setEmulatedMedia", features=[])
    browser.resize(380)
    assert browser.ask("document.documentElement.scrollWidth") <= 380
    assert browser.complaints == []
