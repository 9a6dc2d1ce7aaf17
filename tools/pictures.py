"""Draw each widget's committed SVG as a PNG, for readers and formats that show no SVG.

Fonts differ between machines, so no test compares pixels. Instead each PNG carries the
digest of the SVG that it shows, and a test compares that.
"""

import hashlib
import struct
import zlib
from pathlib import Path

from tools import ROOT
from tools.browser import launched

STATIC = ROOT / "mini_attn/widgets/static"

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


def main() -> None:
    """Write a PNG of twice the size beside each SVG that has changed."""
    changed = outdated()
    if not changed:
        return
    with launched() as browser:
        page = browser.new_page(viewport={"width": 760, "height": 1200}, device_scale_factor=2)
        for picture in changed:
            svg = picture.read_bytes()
            page.set_content(f"<body style='margin:16px;background:#fff'>{svg.decode()}</body>")
            target = picture.with_suffix(".png")
            target.write_bytes(with_digest(page.locator("svg").screenshot(), svg))
            print(f"[bundle] {target.relative_to(ROOT)}: {target.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
