"""Draw each widget's committed SVG as a PNG, for readers and formats that show no SVG.

Two pages draw themselves: what they begin with becomes a PNG too, for links to them. Fonts differ
between machines, so no test compares pixels. Instead each PNG carries the digest of the SVG or
of the page's own room, and a test compares that. What the room's script shares with others isn't
in it: a new model or another page's style redraws nothing here.
"""

import hashlib
import struct
import zlib
from pathlib import Path

from playwright.sync_api import Page

from tools import ROOT
from tools.browser import launched

STATIC = ROOT / "mini_attn/widgets/static"
DRAWINGS = ROOT / "book/_ext/drawings"
# The place that a page's script fills, the script, and the style beside the pictures' own.
PAGES = {
    "your-model": ('<div class="living" id="own-model"></div>', "living.model.js", None),
    "your-machine": ('<div class="your-machine"></div>', "living.machine.js", "machine.css"),
}
WIDTH, HEIGHT = 1088, 470  # what a link's preview has room for

HEADER_BYTES = 33  # the signature and the first chunk, which must stay first


def digest(svg: bytes) -> bytes:
    """Return the text chunk that names an SVG's digest."""
    return b"tEXtSource\x00sha256:" + hashlib.sha256(svg).hexdigest().encode()


def with_digest(png: bytes, svg: bytes) -> bytes:
    """Return the PNG with a text chunk that names the SVG's digest."""
    words = digest(svg)
    chunk = struct.pack(">I", len(words) - 4) + words + struct.pack(">I", zlib.crc32(words))
    return png[:HEADER_BYTES] + chunk + png[HEADER_BYTES:]


def outdated() -> list[Path]:
    """Return each SVG whose PNG is missing or shows another one."""
    pictures = sorted(STATIC.glob("*.svg"))
    drawn = {path: path.with_suffix(".png") for path in pictures}
    return [
        path for path, png in drawn.items()
        if not png.exists() or digest(path.read_bytes()) not in png.read_bytes()[:200]
    ]  # fmt: skip


def sources(name: str) -> bytes:
    """Return what a page's drawing depends on: the files of its room and its style."""
    style = PAGES[name][2]
    parts = sorted((STATIC.parent / "js" / name.replace("-", "_")).iterdir())
    parts += [ROOT / "book/assets" / style] if style else []
    return b"".join(path.read_bytes() for path in parts)


def undrawn() -> list[str]:
    """Return the pages whose drawing is missing or of an older room."""
    drawn = {name: DRAWINGS / f"{name}.png" for name in PAGES}
    return [
        name for name, png in drawn.items()
        if not png.exists() or digest(sources(name)) not in png.read_bytes()[:200]
    ]  # fmt: skip


def draw_page(page: Page, name: str) -> bytes:
    """Let a page's script fill its place; gives the upper part of what comes."""
    place, script, style = PAGES[name]
    css = (STATIC / "living.css").read_text(encoding="utf-8")
    if style:
        css += (ROOT / "book/assets" / style).read_text(encoding="utf-8")
    page.set_viewport_size({"width": WIDTH, "height": 1200})
    page.set_content(f"<body style='margin:0;font-family:sans-serif'><style>{css}</style>{place}")
    page.add_script_tag(content=(STATIC / script).read_text(encoding="utf-8"))
    page.wait_for_timeout(500)
    box = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT}
    return page.screenshot(clip=box)  # type: ignore[arg-type]


def main() -> None:
    """Write the PNGs whose SVG or script has changed."""
    changed, pages = outdated(), undrawn()
    if not changed and not pages:
        return
    DRAWINGS.mkdir(exist_ok=True)
    with launched() as browser:
        for name in pages:
            png = draw_page(browser.new_page(), name)
            (DRAWINGS / f"{name}.png").write_bytes(with_digest(png, sources(name)))
            print(f"[bundle] {name}.png: {len(png) / 1e3:.0f} kB")
        page = browser.new_page(viewport={"width": 760, "height": 1200}, device_scale_factor=2)
        for picture in changed:
            svg = picture.read_bytes()
            page.set_content(f"<body style='margin:16px;background:#fff'>{svg.decode()}</body>")
            target = picture.with_suffix(".png")
            target.write_bytes(with_digest(page.locator("svg").screenshot(), svg))
            print(f"[bundle] {target.relative_to(ROOT)}: {target.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
