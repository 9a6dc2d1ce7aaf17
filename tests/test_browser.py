"""The built book in a real Chromium, with every outside host blocked.

Over http and from a folder (``file://``), light and dark, 1300 and 360 pixels wide. The
book must be built first; ``make test`` does that.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.site import AXE, HTML, THEMES, WIDTHS, Visit

pytestmark = pytest.mark.browser

PAGES = sorted(p.relative_to(HTML).as_posix() for p in HTML.glob("book/*.html"))
CHAPTER = "book/kv-cache.html"


@pytest.mark.parametrize("protocol", ["http", "file"])
@pytest.mark.parametrize("page_name", PAGES)
def test_page_is_clean_and_accessible(visit: Visit, page_name: str, protocol: str) -> None:
    """No outside request, no uncaught error, nothing wider than the screen, axe content."""
    for theme in THEMES:
        for width in WIDTHS:
            page = visit(page_name, protocol=protocol, theme=theme, width=width)
            overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert overflow <= 0, f"{page_name} is {overflow} px too wide at {width} px"
            if protocol == "http":
                assert serious_findings(page) == [], f"{page_name}, {theme}, {width} px"
    assert visit.outside == [], f"{page_name} asked other hosts"
    assert visit.errors == [], f"{page_name} raised"


def serious_findings(page: Page) -> list[str]:
    """Axe's serious and critical findings in the article."""
    page.evaluate(AXE)
    found = page.evaluate("axe.run('article').then(result => result.violations)")
    return [
        f"{item['id']}: {item['help']} ({node['target']} {node.get('failureSummary', '')[:300]})"
        for item in found
        if item["impact"] in ("serious", "critical")
        for node in item["nodes"]
    ]


def test_no_page_was_missed() -> None:
    """The sweep covers the chapter, the index and the back matter."""
    stems = {Path(name).stem for name in PAGES}
    assert {"index", "kv-cache", "notation", "glossary", "references"} <= stems


def test_axe_sees_a_fault(visit: Visit) -> None:
    """The accessibility check can fail: an input without a label is found."""
    page = visit("book/notation.html")
    page.evaluate("document.querySelector('article').innerHTML += '<input type=range>'")
    assert any(finding.startswith("label") for finding in serious_findings(page))


def test_outside_requests_are_seen(visit: Visit) -> None:
    """The request check can fail: a picture from elsewhere is recorded and blocked."""
    page = visit("book/notation.html")
    page.evaluate("new Image().src = 'http://192.0.2.1/picture.png'")
    page.wait_for_timeout(300)
    assert [url.split("/")[2] for url in visit.outside] == ["192.0.2.1"]
    visit.outside.clear()
    visit.errors.clear()
