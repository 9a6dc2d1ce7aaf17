"""Who sees whom: decided by positions, never by lengths. True = may attend."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.numpy._module import check_positions
from mini_attn.shapes import check_count, check_flag

__all__ = ["causal_mask", "combine_masks", "visible"]

Array = NDArray[Any]


def check_window(causal: bool, window: int | None, sink_tokens: int = 0) -> None:
    """A window is a whole number of keys and looks back; without one no token need be kept."""
    check_count("sink_tokens", sink_tokens, least=0)
    if window is not None:
        check_count("window", window)
        if not causal:
            raise ConfigError("window needs causal=True: a window looks back from each query")
    elif sink_tokens:
        raise ConfigError(
            f"sink_tokens = {sink_tokens} needs a window: without one every token stays visible"
        )


def compare_positions(
    q_positions: Array, kv_positions: Array, causal: bool, window: int | None, sink_tokens: int
) -> Array:
    """`visible` without checks; where no query is compared its axis may be left at 1."""
    q, kv = q_positions[..., :, None], kv_positions[..., None, :]
    allowed = kv >= 0
    if causal:
        allowed = allowed & (kv <= q)
    if window is not None:
        near = q - kv < window
        allowed = allowed & (near | (kv < sink_tokens) if sink_tokens else near)
    return np.asarray(allowed)


def same_chunk(q_positions: Array, kv_positions: Array, size: int) -> Array:
    """Tell which keys (…, kv_len) lie in the chunk of each query (…, q_len)."""
    return np.asarray(q_positions[..., :, None] // size == kv_positions[..., None, :] // size)


def visible(
    q_positions: Array,
    kv_positions: Array,
    *,
    causal: bool = False,
    window: int | None = None,
    sink_tokens: int = 0,
) -> Array:
    """Return which keys each query may attend to.

    ``visible = kv_pos >= 0 and (not causal or kv_pos <= q_pos)
    and (window is None or q_pos - kv_pos < window or kv_pos < sink_tokens)``

    Parameters
    ----------
    q_positions : integer array (q_len,) or (batch, q_len)
        Position of each query.
    kv_positions : integer array (kv_len,) or (batch, kv_len)
        Position of each key; -1 marks an empty or padded slot.
    causal : bool
        Whether a query sees only keys at its own position and before.
    window : int or None
        Number of keys that a query sees, its own included; None means all.
    sink_tokens : int
        Number of first positions that stay visible behind the window.

    Returns
    -------
    boolean array (q_len, kv_len), or (batch, q_len, kv_len) if either input has a batch
        True where the query may attend.

    Raises
    ------
    DTypeError
        If the positions are not int32 or int64.
    ShapeError
        If the positions have the wrong axes or batches differ.
    ConfigError
        If ``window`` is below 1 or comes without ``causal``, or ``sink_tokens`` is negative or
        comes without a window.

    Notes
    -----
    A padded query has position -1, so with ``causal`` it sees nothing. Positions are those of
    the text. StreamingLLM numbers anew what its cache holds, 0, 1, 2, …: so no distance exceeds
    ``sink_tokens + window``, and a model meets none that training lacked. Here the first tokens
    drift away as the text grows; which keys are seen is the same.

    References
    ----------
    beltagy2020longformer, section 3.1
    xiao2023streaming, section 3.2

    Examples
    --------
    >>> import numpy as np
    >>> visible(np.array([3]), np.arange(5), causal=True, window=2).astype(int)
    array([[0, 0, 1, 1, 0]])
    """
    check_positions("q_positions", q_positions)
    check_positions("kv_positions", kv_positions)
    if q_positions.ndim == kv_positions.ndim == 2 and len(q_positions) != len(kv_positions):
        raise ShapeError(
            f"q_positions has batch = {len(q_positions)}, kv_positions batch = {len(kv_positions)}"
        )
    check_flag("causal", causal)
    check_window(causal, window, sink_tokens)
    allowed = compare_positions(q_positions, kv_positions, causal, window, sink_tokens)
    batch = np.broadcast_shapes(q_positions.shape[:-1], kv_positions.shape[:-1])
    full = (*batch, q_positions.shape[-1], kv_positions.shape[-1])
    return np.asarray(np.broadcast_to(allowed, full))


def causal_mask(q_len: int, kv_len: int, window: int | None = None, sink_tokens: int = 0) -> Array:
    """The causal mask of the last ``q_len`` of ``kv_len`` tokens.

    ``mask[i, j] = j <= kv_len - q_len + i``

    Parameters
    ----------
    q_len, kv_len : int
        Numbers of queries and of keys; the queries are the last ones.
    window : int or None
        Number of keys that a query sees, its own included; None means all.
    sink_tokens : int
        Number of first tokens that stay visible behind the window.

    Returns
    -------
    boolean array (q_len, kv_len)
        True where the query may attend; aligned to the bottom right.

    Raises
    ------
    ConfigError
        If a length is below 1, there are more queries than keys, or an option is out of range.

    Notes
    -----
    PyTorch's ``is_causal`` aligns to the top left, which differs as soon as there is a cache.

    References
    ----------
    vaswani2017attention, section 3.2.3

    Examples
    --------
    >>> causal_mask(2, 4).astype(int)
    array([[1, 1, 1, 0],
           [1, 1, 1, 1]])
    """
    check_count("q_len", q_len)
    check_count("kv_len", kv_len)
    if q_len > kv_len:
        raise ConfigError(f"q_len = {q_len} queries cannot be the last of kv_len = {kv_len} keys")
    positions = np.arange(kv_len)
    last = positions[kv_len - q_len :]
    return visible(last, positions, causal=True, window=window, sink_tokens=sink_tokens)


def combine_masks(*masks: Array | None) -> Array | None:
    """Attend only where every mask allows it.

    ``mask = mask_1 and mask_2 and ...``

    Parameters
    ----------
    *masks : boolean array or None
        Masks of shapes that broadcast together; None allows everything.

    Returns
    -------
    boolean array or None
        None if every argument is None.

    Raises
    ------
    DTypeError
        If a mask is not boolean.

    Notes
    -----
    Additive masks of large negative numbers are refused: -1e9 is -inf in float16.

    References
    ----------
    vaswani2017attention, section 3.2.3

    Examples
    --------
    >>> import numpy as np
    >>> combine_masks(None, np.array([True, False]), np.array([True, True]))
    array([ True, False])
    """
    combined: Array | None = None
    for mask in masks:
        if mask is None:
            continue
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            kind = getattr(mask, "dtype", type(mask).__name__)
            raise DTypeError(f"a mask must be boolean (True = may attend), got {kind}")
        combined = mask if combined is None else combined & mask
    return combined
