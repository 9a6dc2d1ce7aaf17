"""Find a Chromium, or install one: ``python -m tools.browser --install``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Whatever is asked of another host goes to a port that nobody listens on. To ask a test
    # about every request instead would take a third of a page's time, and the browser's cache.
    "--proxy-server=127.0.0.1:9",
    "--proxy-bypass-list=127.0.0.1;localhost",
]
# WebGPU on the processor, where there is no GPU: right numbers, and no speed to speak of.
SOFTWARE_GPU = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    """Path of a Chromium: the one CHROMIUM names, one on the path, or Playwright's own."""
    named = os.environ.get("CHROMIUM")
    if named:
        if not shutil.which(named):
            sys.exit(f"CHROMIUM names {named}, which cannot be run")
        return named
    for name in NAMES:
        if found := shutil.which(name):
            return found
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        own = play.chromium.executable_path
    return own if Path(own).exists() else None


_running: list[Browser] = []


@contextmanager
def launched() -> Iterator[Browser]:
    """Give a Chromium, closed at the end; whoever asks for one in the meantime shares it.

    A process can drive one at a time, and what is done with it lies in profiles of its own.
    """
    from playwright.sync_api import sync_playwright

    if _running:
        yield _running[0]
        return
    path = find()
    with sync_playwright() as play:
        _running.append(play.chromium.launch(executable_path=path, args=ARGUMENTS))
        try:
            yield _running[0]
        finally:
            _running.pop().close()


def install() -> None:
    """Install Chromium: the system's package where that is allowed, else Playwright's."""
    if hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
        print("[chromium] none found: installing the system's package (about 100 MB)", flush=True)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
            subprocess.run(["apt-get", "-q", "-q", *command], check=False, env=environment)
    if find() is None:
        print("[chromium] none found: asking Playwright for its own (about 150 MB)", flush=True)
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)


if __name__ == "__main__":
    if find() is None and "--install" in sys.argv:
        install()
    path = find()
    if path is None:
        sys.exit(
            "no Chromium was found or could be installed: install one, or name it in CHROMIUM=…"
        )
    if "--install" not in sys.argv:
        print(path)
