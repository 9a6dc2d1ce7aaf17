"""Serve the built book: ``python -m tools.serve --port 8000``."""

from __future__ import annotations

import argparse
import functools
import os
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

from tools import CALLED, HTML

HOST, PORT = "127.0.0.1", 8000
# Said here, as Windows tells Python what its registry holds, where any program may have written
# that a script is plain text; a browser then refuses to run it.
KINDS = {
    ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".mjs": "text/javascript",
    ".json": "application/json", ".ipynb": "application/json", ".wasm": "application/wasm",
    ".svg": "image/svg+xml", ".png": "image/png", ".woff2": "font/woff2", ".pdf": "application/pdf",
    ".zip": "application/zip", ".whl": "application/zip",
}  # fmt: skip


class Handler(SimpleHTTPRequestHandler):
    """Files of a folder, each as what it is."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | KINDS


class Server(ThreadingHTTPServer):
    """A server that takes no port from another one."""

    allow_reuse_address = os.name != "nt"  # there it would share a port that is taken


def main(arguments: list[str] | None = None) -> int:
    """Serve until Ctrl-C, and return the exit status."""
    parser = argparse.ArgumentParser(prog="serve", description=__doc__)
    parser.add_argument("--port", type=int, default=PORT)
    port = parser.parse_args(arguments).port
    handler = functools.partial(Handler, directory=str(HTML))
    try:
        server = Server((HOST, port), handler)
    except (OSError, OverflowError) as error:
        words = f"port {port} can't be had ({error}): choose another, {CALLED} serve PORT="
        print(f"[serve] {words}{PORT + 1}", file=sys.stderr)
        return 1
    print(f"[serve] http://localhost:{port}/ (Ctrl-C ends it)", flush=True)
    with server:
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
