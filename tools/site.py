"""The built book, served on a free port and visited with a Chromium."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
)

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
    """Opens pages of the book and records what they ask for and what they raise.

    A call opens a page in a browser profile of its own. A look opens it in a tab that all looks
    share, which costs a fifth: for what leaves behind nothing but what a page may store.
    """

    def __init__(self, browser: Browser, address: str, folder: Path = HTML) -> None:
        self.browser, self.address, self.folder = browser, address, folder
        self.outside: list[str] = []
        self.errors: list[str] = []
        self.contexts: list[BrowserContext] = []
        self.tabs: dict[bool, Page] = {}

    def context(self, **options: object) -> BrowserContext:
        """A fresh browser profile; no other host can be reached, see ``tools.browser``."""
        context = self.browser.new_context(**options)  # type: ignore[arg-type]
        context.on("request", self.ask)
        context.on("weberror", lambda error: self.errors.append(str(error.error)))
        context.on("console", self.note)
        context.on("dialog", self.answer)
        self.contexts.append(context)
        return context

    def note(self, message: ConsoleMessage) -> None:
        """Keep what a page complains of, and where."""
        if message.type == "error":
            self.errors.append(f"{message.text} ({message.location['url']})")

    def answer(self, dialog: Dialog) -> None:
        """No page of the book shows a dialog; Jupyter may ask whether one wants to leave."""
        if dialog.type == "beforeunload":
            dialog.accept()
        else:
            self.errors.append(f"a dialog: {dialog.message}")
            dialog.dismiss()

    def ask(self, request: Request) -> None:
        """Keep what is asked of another host."""
        own = (self.address, "file:", "data:", "blob:", "about:")
        if not request.url.startswith(own):
            self.outside.append(request.url)

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
        self.close()
        context = self.context(
            viewport={"width": width, "height": 900}, color_scheme=theme, **options
        )
        page = context.new_page()
        page.goto(self.url(name, protocol), wait_until="load")
        return page

    def look(
        self,
        name: str,
        *,
        protocol: str = "http",
        theme: str = "light",
        width: int = 1300,
        java_script_enabled: bool = True,
    ) -> Page:
        """Open a page in the tab that all looks share; nothing is stored at the start."""
        self.close()
        page = self.tabs.get(java_script_enabled)
        if page is None:
            page = self.context(java_script_enabled=java_script_enabled).new_page()
            self.contexts.clear()  # this one stays
            self.tabs[java_script_enabled] = page
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(media="null", color_scheme=theme)  # type: ignore[arg-type]
        page.goto(self.url(name, protocol), wait_until="load")
        return page

    def stay(self, name: str) -> Page:
        """Open a page in a profile of its own, which the ends of visits leave open."""
        page = self.context(viewport={"width": 1300, "height": 900}).new_page()
        self.contexts.pop()
        page.goto(self.url(name, "http"), wait_until="load")
        return page

    def url(self, name: str, protocol: str) -> str:
        """Return a page's address, served or in its folder."""
        return f"{self.address if protocol == 'http' else self.folder.as_uri()}/{name}"

    def close(self) -> None:
        """Close what is open and empty the tabs of looks; records stay."""
        while self.contexts:
            self.contexts.pop().close()
        for enabled, page in self.tabs.items():
            if page.url != "about:blank":
                page.mouse.move(0, 0)
                if enabled:
                    page.evaluate("for (const room of [localStorage, sessionStorage]) room.clear()")
                page.goto("about:blank")


@contextmanager
def visiting(folder: Path = HTML) -> Iterator[Visit]:
    """Visits of a folder's pages, served, in a Chromium of their own."""
    with launched() as browser, serve(folder) as address:
        yield Visit(browser, address, folder)
