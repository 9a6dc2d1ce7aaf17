"""Print pencil exercises and their keys with Chromium. ``make handout``."""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path
from typing import Any

from classroom.sheets import handout
from mini_attn import __version__
from mini_attn.errors import ConfigError
from tools.browser import find, launched

FOOT = """<div style="font: 8px sans-serif; color: #4d555f; width: 100%; margin: 0 17mm;
display: flex; justify-content: space-between"><span>{title} · mini_attn {version}</span>
<span><span class="pageNumber"></span> / <span class="totalPages"></span></span></div>"""
PAPER: dict[str, Any] = {
    "format": "A4",
    "margin": {"top": "15mm", "bottom": "17mm", "left": "17mm", "right": "17mm"},
    "display_header_footer": True,
    "header_template": "<span></span>",
    "tagged": True,
    "print_background": True,
}


def print_pages(pages: dict[Path, str]) -> None:
    """A PDF beside each HTML file."""
    if find() is None:
        raise ConfigError("no Chromium to print with: name one in CHROMIUM=…, or add --no-pdf")
    with launched() as browser:
        for path, content in pages.items():
            page = browser.new_page()
            page.set_content(content)
            page.evaluate("document.fonts.ready.then(() => undefined)")
            foot = FOOT.format(title=escape(page.title()), version=__version__)
            page.pdf(path=path.with_suffix(".pdf"), footer_template=foot, **PAPER)
            page.close()


if __name__ == "__main__":
    sys.exit(handout.main(printer=print_pages))
