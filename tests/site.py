"""What the browser tests ask of a page that is open: no complaint, no other host, no barrier."""

from __future__ import annotations

from collections.abc import Iterator

from playwright.sync_api import Page

from tools.bundle import packages
from tools.site import Visit

THEMES = ("light", "dark")
WIDTHS = (1300, 360)


def watched(visits: Visit) -> Iterator[Visit]:
    """One test's visits; at the end nothing was raised and no other host was asked."""
    yield visits
    visits.close()
    found = (visits.errors[:], visits.outside[:])
    visits.errors.clear()
    visits.outside.clear()
    assert found == ([], [])


def serious_findings(page: Page) -> list[str]:
    """Axe's serious and critical findings in the article, with the fonts it is set in."""
    page.evaluate("document.fonts.ready.then(() => new Promise(requestAnimationFrame))")
    page.evaluate((packages() / "axe-core/axe.min.js").read_text())
    # Preloading would ask for imported styles at addresses that do not exist.
    found = page.evaluate("axe.run('article', {preload: false}).then(result => result.violations)")
    return [
        f"{item['id']}: {item['help']} {[node['html'][:150] for node in item['nodes']]}"
        for item in found
        if item["impact"] in ("serious", "critical")
    ]
