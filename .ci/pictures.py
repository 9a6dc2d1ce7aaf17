"""Draw each widget's committed SVG as a PNG, for readers and formats that show no SVG."""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "mini_attn/widgets/static"

sys.path.insert(0, str(ROOT))
from tests.chromium import ARGUMENTS, find  # noqa: E402

with sync_playwright() as play:
    browser = play.chromium.launch(executable_path=find(), args=ARGUMENTS)
    page = browser.new_page(viewport={"width": 760, "height": 1200}, device_scale_factor=2)
    for picture in sorted(STATIC.glob("*.svg")):
        page.set_content(f"<body style='margin:16px;background:#fff'>{picture.read_text()}</body>")
        target = picture.with_suffix(".png")
        page.locator("svg").screenshot(path=target)
        print(f"[bundle] {target.relative_to(ROOT)}: {target.stat().st_size / 1e3:.0f} kB")
    browser.close()
