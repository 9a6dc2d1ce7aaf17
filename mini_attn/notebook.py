"""What the chapters' cells share: a plot style, a stopwatch, sources, measurements."""

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

# Okabe and Ito's colour-blind-safe order, each colour with a dash and a marker of its own,
# so that a line is still told apart in grey.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P")


def use_book_style() -> None:
    """Draw matplotlib figures as the book does: vector pictures on a light card.

    The card stays light in dark mode too, so that a printed page and a dark page show
    the same picture. Works in Jupyter, in the browser and in a plain script.
    """
    import matplotlib as mpl
    from cycler import cycler

    cycle = cycler(color=COLOURS, linestyle=DASHES, marker=MARKERS)
    mpl.rcParams.update(
        {
            "axes.prop_cycle": cycle,
            "axes.grid": True,
            "axes.axisbelow": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlelocation": "left",
            "axes.titlesize": 11,
            "axes.titleweight": "bold",
            "figure.constrained_layout.use": True,
            "figure.figsize": (7.0, 3.2),
            "font.size": 10,
            "grid.color": "#dddddd",
            "grid.linewidth": 0.6,
            "legend.frameon": False,
            "lines.linewidth": 2.0,
            "lines.markersize": 5.0,
            "svg.hashsalt": "mini_attn",  # the same figure gives the same bytes
        }
    )
    try:
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:
        return  # a plain script: its own backend decides the format
    set_matplotlib_formats("svg", metadata={"Date": None})


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


def this_machine(*, size: int = 512, read_bytes: int = 64_000_000) -> Device:
    """The reader's machine as a device, from two short measurements with NumPy.

    One large float32 product gives the FLOP/s, the largest of a large float32 array the bytes/s.

    Parameters
    ----------
    size : int
        Rows and columns of the two matrices.
    read_bytes : int
        Bytes of the array that is read; more than the processor's own memories hold.

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
    read_seconds = best_seconds(array.max, go_on_seconds=0.3)
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
    """What a model loses on stories and on copying, on rows that it has not seen.

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
