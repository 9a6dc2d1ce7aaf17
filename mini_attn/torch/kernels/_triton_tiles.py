# Triton compiles no annotations but its own.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"
"""What a kernel does with tiles of keys: which to read, and what one adds to the running sums.

Scores are kept in base 2, as `exp2` is the exponential that the hardware has.
"""

from __future__ import annotations

import triton
import triton.language as tl

LOG_2, LOG2_E = tl.constexpr(0.6931471805599453), tl.constexpr(1.4426950408889634)
NOTHING = tl.constexpr(float("-inf"))


@triton.jit
def load_rows(
    array, at, step, held,
    WIDTH: tl.constexpr, BLOCK: tl.constexpr, CHECK: tl.constexpr,
):  # fmt: skip
    """Rows of an array; zeros, never what lies in memory, where nothing is held."""
    places = tl.arange(0, BLOCK)[None, :]
    pointers = array + at.to(tl.int64)[:, None] * step + places
    if WIDTH < BLOCK:
        return tl.load(pointers, mask=held[:, None] & (places < WIDTH), other=0.0)
    if CHECK:
        return tl.load(pointers, mask=held[:, None], other=0.0)
    return tl.load(pointers)


@triton.jit
def _seen(held, place, at, window, CAUSAL: tl.constexpr, WINDOW: tl.constexpr):
    """Return whether a query at `place` may attend to a key at `at`, if one is held there."""
    seen = held
    if CAUSAL:
        seen = seen & (at <= place)
    if WINDOW:
        seen = seen & (at > place - window)
    return seen


@triton.jit
def walk_tiles(
    state, q, k, v, kv_places, place, bounds, steps,
    window, factors,
    CAUSAL: tl.constexpr, WINDOW: tl.constexpr, SOFTCAP: tl.constexpr, PLACED: tl.constexpr,
    CHECK: tl.constexpr, WIDE: tl.constexpr, WIDTH: tl.constexpr, V_WIDTH: tl.constexpr,
    BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_V: tl.constexpr,
):  # fmt: skip
    """Some tiles of keys more. Without CHECK all of them are held and seen by every row."""
    out, total, top = state
    low, high = bounds
    for start in tl.range(low, high, BLOCK_K):
        column = start + tl.arange(0, BLOCK_K)
        held = column < high
        at = column
        if PLACED:
            at = tl.load(kv_places + column, mask=held, other=-1)
            held = at >= 0
        keys = load_rows(k, column, steps[0], held, WIDTH, BLOCK_D, CHECK)
        if WIDE:
            keys = keys.to(tl.float32)
        scores = tl.dot(q, tl.trans(keys), input_precision="ieee") * factors[0]
        if SOFTCAP:  # the hyperbolic tangent, by the exponential that cannot overflow to NaN
            scores = factors[1] * (1 - 2 / (1 + tl.exp2(scores)))
        if CHECK:
            seen = _seen(held[None, :], place[:, None], at[None, :], window, CAUSAL, WINDOW)
            scores = tl.where(seen, scores, NOTHING)
        new_top = tl.maximum(top, tl.max(scores, 1))
        shift = new_top
        if CHECK:  # a row that has seen nothing yet: -inf - (-inf) would be NaN
            shift = tl.where(new_top == NOTHING, 0.0, new_top)
        weights = tl.exp2(scores - shift[:, None])
        keep = tl.exp2(top - shift)
        total = total * keep + tl.sum(weights, 1)
        values = load_rows(v, column, steps[1], held, V_WIDTH, BLOCK_V, CHECK)
        weights = weights.to(values.dtype)
        if WIDE:
            weights, values = weights.to(tl.float32), values.to(tl.float32)
        out = tl.dot(weights, values, out * keep[:, None], input_precision="ieee")
        top = new_top
    return out, total, top


@triton.jit
def bounds_by_number(
    first, last, low, high, window,
    CAUSAL: tl.constexpr, WINDOW: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Keys that some row sees, and within them the tiles that all rows see, from numbers alone.

    The queries stand at `first` … `last`, each key at its own number.
    """
    inner_low = low
    inner_high = high // BLOCK_K * BLOCK_K
    if WINDOW:
        low = tl.maximum(low, tl.maximum(first - window + 1, 0) // BLOCK_K * BLOCK_K)
        inner_low = tl.maximum(low, tl.cdiv(tl.maximum(last - window + 1, 0), BLOCK_K) * BLOCK_K)
    if CAUSAL:
        high = tl.minimum(high, last + 1)
        inner_high = tl.minimum(inner_high, tl.maximum(first + 1, 0) // BLOCK_K * BLOCK_K)
    inner_low = tl.minimum(inner_low, tl.maximum(high, low))
    return low, inner_low, tl.maximum(inner_high, inner_low), high


@triton.jit
def bounds_by_place(
    kv_places, place, low, high, window,
    CAUSAL: tl.constexpr, WINDOW: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Bounds of the keys that some row sees, found by reading positions; no tile goes unchecked."""
    newest = tl.max(place, 0)
    oldest = tl.min(tl.where(place >= 0, place, newest), 0)
    begin, end = high, low
    for start in tl.range(low, high, 1024):
        column = start + tl.arange(0, 1024)
        at = tl.load(kv_places + column, mask=column < high, other=-1)
        seen = at >= 0
        if CAUSAL:
            seen = seen & (at <= newest)
        if WINDOW:
            seen = seen & (at > oldest - window)
        begin = tl.minimum(begin, tl.min(tl.where(seen, column, high), 0))
        end = tl.maximum(end, tl.max(tl.where(seen, column + 1, low), 0))
    begin = begin // BLOCK_K * BLOCK_K
    return begin, begin, begin, end


@triton.jit
def walk_span(
    q, k, v, kv_places, place, bounds, steps, window, factors,
    CAUSAL: tl.constexpr, WINDOW: tl.constexpr, SOFTCAP: tl.constexpr, PLACED: tl.constexpr,
    WIDE: tl.constexpr, WIDTH: tl.constexpr, V_WIDTH: tl.constexpr, BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_V: tl.constexpr,
):  # fmt: skip
    """All tiles of a span: those at its ends with every check, those between with none."""
    low, inner_low, inner_high, high = bounds
    state = (
        tl.zeros([BLOCK_Q, BLOCK_V], tl.float32),
        tl.zeros([BLOCK_Q], tl.float32),
        tl.full([BLOCK_Q], NOTHING, tl.float32),
    )
    if WINDOW and not PLACED:
        state = walk_tiles(
            state, q, k, v, kv_places, place, (low, inner_low), steps, window, factors, CAUSAL,
            WINDOW, SOFTCAP, PLACED, True, WIDE, WIDTH, V_WIDTH, BLOCK_K, BLOCK_D, BLOCK_V,
        )  # fmt: skip
    if not PLACED:
        state = walk_tiles(
            state, q, k, v, kv_places, place, (inner_low, inner_high), steps, window, factors,
            CAUSAL, WINDOW, SOFTCAP, PLACED, False, WIDE, WIDTH, V_WIDTH, BLOCK_K, BLOCK_D, BLOCK_V,
        )  # fmt: skip
    return walk_tiles(
        state, q, k, v, kv_places, place, (inner_high, high), steps, window, factors, CAUSAL,
        WINDOW, SOFTCAP, PLACED, True, WIDE, WIDTH, V_WIDTH, BLOCK_K, BLOCK_D, BLOCK_V,
    )  # fmt: skip
