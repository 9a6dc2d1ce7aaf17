"""What the chapters' cells share: palette and plot style, a stopwatch, sources, measurements."""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mini_attn.cost import Device, measured_device, product_flops
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count
from mini_attn.stories import row_probabilities, sample_rows

STORED = Path(__file__).with_name("stored.json")

# The one palette of the book, as it is on light paper: the style sheet of the living pictures has
# the same names and colors, and others for a dark page. The first eight are what a color means,
# and can be read as text in both modes; the rest is neutral.
PALETTE = {
    "query": "#0072b2",
    "key": "#1a7d45",
    "value": "#946300",
    "weight": "#7d4fc4",
    "output": "#c2410c",
    "cache": "#00707a",
    "new": "#b8286f",
    "dropped": "#66707c",
    "ink": "#1c2430",
    "muted": "#55606e",
    "line": "#d5dce4",
    "line-strong": "#8793a1",
    "surface": "#ffffff",
}

# Each line of a figure has a dash and a marker of its own beside its color, so that it is
# still told apart in grey.
COLOURS = tuple(PALETTE[role] for role in ("query", "output", "key", "new", "cache", "value"))
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P")
STYLE: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": PALETTE["line-strong"],
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": PALETTE["ink"],
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "figure.constrained_layout.use": True,
    "figure.facecolor": PALETTE["surface"],
    "figure.figsize": (4.8, 3.0),  # its words are read on a phone, without scrolling
    "font.family": "sans-serif",
    "font.sans-serif": ["Source Sans 3", "Segoe UI", "Roboto", "Noto Sans", "DejaVu Sans"],
    "font.size": 10,
    "grid.color": PALETTE["line"],
    "grid.linewidth": 0.6,
    "hatch.color": PALETTE["ink"],
    "legend.frameon": False,
    "lines.linewidth": 2.0,
    "lines.markersize": 5.0,
    "patch.edgecolor": PALETTE["ink"],
    "svg.fonttype": "none",
    "svg.hashsalt": "mini_attn",  # the same figure gives the same bytes
    "text.color": PALETTE["ink"],
    "xtick.color": PALETTE["line-strong"],
    "xtick.labelcolor": PALETTE["muted"],
    "ytick.color": PALETTE["line-strong"],
    "ytick.labelcolor": PALETTE["muted"],
}
LEVELS = 64  # of strength in a map
SQUARE = 0.47 * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)])
UNDER_WORDS = 0.5  # as strong as a square may be for ink on it to be read, in both modes


def use_book_style() -> None:
    """Draw matplotlib figures as the book does: vector pictures in its palette and face.

    Words stay text. The card is white, so that a figure is read in a dark notebook too; a page
    of the book takes the card away and lets the colors follow its own light or dark. Works in
    Jupyter, in the browser and in a plain script.
    """
    import matplotlib as mpl
    from cycler import cycler

    cycle = cycler(color=COLOURS, linestyle=DASHES, marker=MARKERS)
    mpl.rcParams.update({**STYLE, "axes.prop_cycle": cycle})
    try:
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:
        return  # a plain script: its own backend decides the format
    set_matplotlib_formats("svg", metadata={"Date": None})


def short_weight(weight: float) -> str:
    """A weight in two digits, for the square of a map: ``.27``, ``1``, ``0``."""
    text = f"{weight:.2f}".removeprefix("0")
    return {".00": "0", "1.00": "1"}.get(text, text)


def draw_map(
    ax: Any,
    values: NDArray[Any],
    *,
    largest: float = 1.0,
    role: str = "weight",
    minus: str = "output",
    words: Callable[[Any], str] | None = None,
) -> None:
    """Draw a matrix as squares, the stronger the larger a number is.

    ``opacity = |value| / largest``

    Unlike a picture of pixels, the squares follow the palette of a dark page.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Row 0 is at the top.
    values : numpy.ndarray
        (rows, columns); NaN is left empty.
    largest : float
        The number that is drawn with full strength; none may be larger.
    role, minus : str
        Names in `PALETTE` for positive and for negative numbers.
    words : callable, optional
        Gives what is written into a square from its number; squares are paler then.

    Raises
    ------
    ConfigError
        If there are not two axes, a number is larger or a name is not in the palette.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    if values.ndim != 2 or (np.abs(values) > largest * (1 + 1e-6)).any():
        raise ConfigError(
            f"draw_map needs (rows, columns) of numbers from {-largest:g} to {largest:g}, got "
            f"shape {values.shape} and numbers from {np.nanmin(values):g} to {np.nanmax(values):g}"
        )
    for name in {role, minus} - set(PALETTE):
        raise ConfigError(f"the palette has no {name!r}; it has {', '.join(PALETTE)}")
    most = UNDER_WORDS if words else 1.0
    levels = np.rint(np.nan_to_num(values) / largest * LEVELS)  # squares alike are one shape
    for level in np.unique(levels[levels != 0]):
        centres = np.argwhere(levels == level)[:, None, ::-1]
        corners = (centres + SQUARE).reshape(-1, 2)
        steps = [Outline.MOVETO, *[Outline.LINETO] * 3, Outline.CLOSEPOLY] * len(centres)
        face = PALETTE[role if level > 0 else minus], most * abs(level) / LEVELS
        ax.add_patch(PathPatch(Outline(corners, steps), facecolor=face, linewidth=0))
    for (i, j), value in np.ndenumerate(values):
        if words and not np.isnan(value):
            ax.text(j, i, words(value), ha="center", va="center")
    rows, columns = values.shape
    ax.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5), aspect="equal")
    ax.spines[:].set_visible(True)
    ax.grid(visible=False)


def best_seconds(
    function: Callable[[], Any], *, repeats: int = 3, go_on_seconds: float = 0.0
) -> float:
    """Shortest wall time of several calls.

    The minimum is the run that the rest of the machine disturbed least. A call that is short
    beside the clock's own step (a browser's is coarse) is timed several times in a row.

    Parameters
    ----------
    function : callable
        Called without arguments, at least ``repeats`` times.
    repeats : int
        Number of timings, at least 1.
    go_on_seconds : float
        Timings go on until so much time has passed: on a busy machine a good moment comes.

    Returns
    -------
    float
        Seconds of the fastest call.

    Raises
    ------
    ConfigError
        If ``repeats`` is below 1.
    """
    if repeats < 1:
        raise ConfigError(f"best_seconds needs repeats >= 1, got {repeats}")
    best, calls = float("inf"), 1
    end = time.perf_counter() + go_on_seconds
    while repeats or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(calls):
            function()
        seconds = time.perf_counter() - start
        if seconds < 0.002 and calls < 1024:
            calls *= 2  # too short to be told from the clock's step
            continue
        best, repeats = min(best, seconds / calls), max(0, repeats - 1)
    return best


def this_machine(*, size: int = 512, read_bytes: int = 128_000_000) -> Device:
    """The reader's machine as a device, from two short measurements with NumPy.

    One large float32 product gives the FLOP/s, the largest of a large float32 array the bytes/s.

    Parameters
    ----------
    size : int
        Rows and columns of the two matrices.
    read_bytes : int
        Bytes of the array that is read: several times what the last cache holds, or what stays
        in it from one reading to the next passes for memory.

    Returns
    -------
    Device
        With rates for ``"float32"``. Its memory is not measured: 8 GB stand there.

    Raises
    ------
    ConfigError
        If a size is too small.
    """
    matrix = np.ones((check_count("size", size), size), dtype=np.float32)
    array = np.ones(check_count("read_bytes", read_bytes, least=4) // 4, dtype=np.float32)
    product_seconds = best_seconds(lambda: matrix @ matrix, go_on_seconds=0.3)
    read_seconds = best_seconds(array.max, go_on_seconds=0.5)
    return measured_device(
        {"float32": product_flops(size, size, size) / product_seconds},
        array.nbytes / read_seconds,
        memory_bytes=8 * 10**9,
    )


def source_of(*functions: Callable[..., Any]) -> Any:
    """Functions as they stand in the package, one below the other.

    Parameters
    ----------
    *functions : callable
        For example those of `mini_attn.plain`.

    Returns
    -------
    IPython.display.Markdown
        Their sources as highlighted code, on a page and in a notebook.
    """
    from IPython.display import Markdown

    sources = "\n\n".join(inspect.getsource(function) for function in functions)
    return Markdown(f"```python\n{sources}```")


def stored(key: str) -> dict[str, Any]:
    """One stored measurement, for readers whose machine cannot make it.

    Parameters
    ----------
    key : str
        ``"<page>/<name>"``, as written by ``make bench``.

    Returns
    -------
    dict
        The measured values under their names with units, and ``machine``, ``versions``,
        ``date`` and ``command``.

    Raises
    ------
    ConfigError
        If nothing is stored under ``key``.
    """
    table: dict[str, dict[str, Any]] = json.loads(STORED.read_text(encoding="utf-8"))
    if key not in table:
        raise ConfigError(f"no stored measurement {key!r}; stored are {sorted(table)}")
    return table[key]


class Losses(NamedTuple):
    """What a model loses, in nats per word.

    Parameters
    ----------
    stories : float
        On all words of stories but the first.
    copying : float
        On those words of repeats that follow from what stands before.
    """

    stories: float
    copying: float


@lru_cache(maxsize=4)
def _held_rows(rows: int, seed: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Rows of stories and of repeats, and which words of the repeats follow."""
    stories, repeats = (sample_rows(rows, 256, seed, kind=kind) for kind in ("stories", "repeats"))
    chances = row_probabilities(repeats)[:, :-1]
    follows = np.take_along_axis(chances, repeats[:, 1:, None], axis=2)[..., 0] > 0.95
    return stories, repeats, follows


def losses_of(
    logits_of: Callable[[NDArray[Any]], NDArray[Any]], *, rows: int = 8, seed: int = 1
) -> Losses:
    """Measure a model's losses on stories and on copying, on rows that it has not seen.

    ``-mean of log softmax(logits)[next word]``

    Parameters
    ----------
    logits_of : callable
        Gives logits (rows, 256, words) for numbers of words (rows, 256): a decoder of the
        trained family, or a function that runs one in a way of its own.
    rows : int
        Rows of each kind.
    seed : int
        Chooses them.

    Returns
    -------
    Losses
        Nats a word of both.

    Raises
    ------
    ConfigError
        If there are no rows.

    Examples
    --------
    >>> from mini_attn.stories import WORDS
    >>> losses = losses_of(lambda ids: np.zeros((*ids.shape, len(WORDS))), rows=1)
    >>> bool(np.isclose(losses.copying, np.log(len(WORDS))))
    True
    """
    stories, repeats, follows = _held_rows(check_count("rows", rows), seed)
    nats = []
    for ids in (stories, repeats):
        logits = np.asarray(logits_of(ids)[:, :-1], np.float64)
        logits -= logits.max(axis=-1, keepdims=True)
        right = np.take_along_axis(logits, ids[:, 1:, None], axis=2)[..., 0]
        nats.append(np.log(np.exp(logits).sum(axis=-1)) - right)
    return Losses(float(nats[0].mean()), float(nats[1][follows].mean()))
