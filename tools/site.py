"""The built book, served on a free port and visited with a Chromium."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Route

from tools import HTML
from tools.browser import launched


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """A static host that does not write to the terminal."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder on a free local port; gives its address."""
    handler = functools.partial(QuietHandler, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Visit:
    """Opens pages of the book and records what they ask for and what they raise."""

    def __init__(self, browser: Browser, address: str, folder: Path = HTML) -> None:
        self.browser, self.address, self.folder = browser, address, folder
        self.outside: list[str] = []
        self.errors: list[str] = []
        self.contexts: list[BrowserContext] = []

    def context(self, **options: object) -> BrowserContext:
        """A fresh browser profile that reaches this site and nothing else."""
        context = self.browser.new_context(**options)  # type: ignore[arg-type]
        context.route("**/*", self.gate)
        context.on("weberror", lambda error: self.errors.append(str(error.error)))
        context.on("console", self.note)
        self.contexts.append(context)
        return context

    def note(self, message: ConsoleMessage) -> None:
        """Keep what a page complains of, and where."""
        if message.type == "error":
            self.errors.append(f"{message.text} ({message.location['url']})")

    def gate(self, route: Route) -> None:
        """Let the site's own files through; record and block the rest."""
        url = route.request.url
        if url.startswith((self.address, "file:", "data:", "blob:")):
            route.continue_()
        else:
            self.outside.append(url)
            route.abort()

    def __call__(
        self,
        name: str,
        *,
        protocol: str = "http",
        theme: str = "light",
        width: int = 1300,
        **options: object,
    ) -> Page:
        """Open a page of the book, for example ``book/kv-cache.html#decode_stepper:step=1``."""
        base = self.address if protocol == "http" else self.folder.as_uri()
        self.close()
        context = self.context(
            viewport={"width": width, "height": 900}, color_scheme=theme, **options
        )
        page = context.new_page()
        page.goto(f"{base}/{name}", wait_until="load")
        return page

    def close(self) -> None:
        """Close what is open; records stay."""
        while self.contexts:
            self.contexts.pop().close()


@contextmanager
def visiting(folder: Path = HTML) -> Iterator[Visit]:
    """Visits of a folder's pages, served, in a Chromium of their own."""
    with launched() as browser, serve(folder) as address:
        yield Visit(browser, address, folder)
