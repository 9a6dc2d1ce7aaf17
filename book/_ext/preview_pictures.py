"""Draw the picture that a shared link to a page shows: its title, and its living picture.

A chapter has the picture that it opens with; any other page has what it says of itself.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from textwrap import wrap

import matplotlib
from PIL import Image, ImageDraw, ImageFont

SIZE, EDGE = (1200, 630), 56  # as sites ask for
INK, MUTED, PAPER, BAR = "#1c2127", "#505862", "#ffffff", "#0b5394"
LETTERS = 0.58  # width of a letter in sizes of its font, about


@cache
def font(size: int, weight: str = "") -> ImageFont.FreeTypeFont:
    """Return a font that matplotlib brings, as a page's own fonts are compressed for browsers."""
    return ImageFont.truetype(
        Path(matplotlib.get_data_path(), f"fonts/ttf/DejaVuSans{weight}.ttf"), size
    )


def put(canvas: ImageDraw.ImageDraw, text: str, top: int, size: int, color: str,
        weight: str = "", most: int = 9) -> int:  # fmt: skip
    """Set a text in lines as wide as the picture; gives where the next may begin."""
    width = int((SIZE[0] - 2 * EDGE) / (LETTERS * size))
    lines = wrap(text, width)
    if len(lines) > most:
        lines = [*lines[: most - 1], f"{lines[most - 1][: width - 2]} …"]
    for line in lines:
        canvas.text((EDGE, top), line, color, font(size, weight))
        top += round(1.35 * size)
    return top


def preview(book: str, title: str, about: str, drawing: Path | None) -> Image.Image:
    """Draw a page's preview.

    Parameters
    ----------
    book, title, about : str
        The book's title, the page's, and what the page says of itself.
    drawing : Path or None
        A picture of the page, as PNG on white; None shows the words alone.

    Returns
    -------
    Image
        1,200 by 630, in 256 colors.
    """
    image = Image.new("RGB", SIZE, PAPER)
    canvas = ImageDraw.Draw(image)
    canvas.rectangle((0, 0, SIZE[0], 12), BAR)
    top = put(canvas, book, 40, 24, MUTED, most=1)
    top = put(canvas, title, top + 6, 46, INK, "-Bold", most=2) + 14
    if drawing is None:
        put(canvas, about, top + 10, 42, MUTED)
    else:
        with Image.open(drawing) as opened:
            shown = opened.convert("RGB")
        shown.thumbnail((SIZE[0] - 2 * EDGE, SIZE[1] - top - 30), Image.Resampling.LANCZOS)
        image.paste(shown, ((SIZE[0] - shown.width) // 2, top))
    return image.quantize(256)
