"""Every cache against a plain list of tokens: one protocol, whatever is done in whatever order."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mini_attn.caching import Transaction
from mini_attn.errors import (
    CacheOverflowError,
    CacheStateError,
    ConfigError,
    DTypeError,
    ShapeError,
)

BATCH, HEADS, DIM, V_DIM, CAPACITY = 3, 2, 4, 5, 24
WINDOW, BLOCK, GROUP, RESIDUAL, SINKS = 5, 3, 4, 3, 3


class Tokens:
    """What a cache was given: per slot a key and a value of each row, and positions."""

    def __init__(self):
        self.k = np.zeros((BATCH, HEADS, 0, DIM))
        self.v = np.zeros((BATCH, HEADS, 0, V_DIM))
        self.positions = np.zeros((BATCH, 0), int)
        self.sealed = 0
        self.before = None  # slots and sealed ones before the latest append
        self.plain = True  # no padding, no gap, no reorder so far

    @property
    def slots(self):
        return self.positions.shape[1]

    @property
    def pads(self):
        """Padding before each row's first token."""
        return (np.maximum.accumulate(self.positions, axis=1) < 0).sum(axis=1)

    def next(self, new):
        ends = self.positions.max(axis=1, keepdims=True, initial=-1)
        return ends + 1 + np.arange(new)

    def append(self, k, v, positions):
        self.before = self.slots, self.sealed
        self.k, self.v = np.concatenate([self.k, k], 2), np.concatenate([self.v, v], 2)
        self.positions = np.concatenate([self.positions, positions], 1)

    def cut(self, n):
        self.k, self.v = self.k[:, :, :n], self.v[:, :, :n]
        self.positions = self.positions[:, :n]

    def reorder(self, index):
        self.k, self.v, self.positions = self.k[index], self.v[index], self.positions[index]
        self.plain = False


NO_PADS = np.zeros(BATCH, int)


class Contiguous:
    """`KVCache`, and what all other caches have in common with it."""

    heads = HEADS
    room = CAPACITY

    def make(self, lib, dtype="float64", blocks=None, **where):
        return lib.KVCache(BATCH, HEADS, DIM, CAPACITY, v_head_dim=V_DIM, dtype=dtype, **where)

    def into(self, array):
        """An array (batch, heads, seq, dim) as this cache takes it."""
        return array

    def out(self, array):
        """What this cache gives as an array (batch, heads, seq, dim)."""
        return array

    def held(self, slots, pads=NO_PADS):
        """The slots that `view` shows, in order."""
        return list(range(slots))

    def answer(self, before, slots, pads=NO_PADS):
        """The slots that an append gives, in order."""
        return self.held(slots, pads)

    def check_answer(self, slots, tokens, before):
        """They are what the new tokens may attend to, each once."""
        assert len(set(slots)) == len(slots)
        assert set(slots) >= set(range(max(0, before - WINDOW + 1), tokens.slots))

    def after_append(self, tokens):
        """What an append does beside writing."""

    def crop(self, tokens, n):
        """Crop the list; False where the cache must refuse."""
        if n > tokens.slots:
            return False
        tokens.cut(n)
        return True

    def error(self, tokens):
        """Bounds on the errors of keys and values in each slot."""
        return np.zeros_like(tokens.k), np.zeros_like(tokens.v)

    def allocated(self, size):
        return CAPACITY * BATCH * self.heads * (DIM + V_DIM) * size

    def used(self, tokens, size):
        return tokens.slots * BATCH * self.heads * (DIM + V_DIM) * size


class Ring(Contiguous):
    size = WINDOW

    def make(self, lib, dtype="float64", blocks=None, **where):
        return lib.SlidingWindowCache(
            BATCH, HEADS, DIM, CAPACITY, window=WINDOW, v_head_dim=V_DIM, dtype=dtype, **where
        )

    def held(self, slots, pads=NO_PADS):
        return sorted(range(max(0, slots - WINDOW), slots), key=lambda slot: slot % WINDOW)

    def answer(self, before, slots, pads=NO_PADS):
        if slots - before == 1 or slots <= WINDOW:
            return self.held(slots)
        held = [slot for slot in self.held(before) if slot > before - WINDOW]
        return held + list(range(before, slots))

    def crop(self, tokens, n):
        if n > tokens.slots:
            return False
        if n < tokens.slots:
            start = tokens.before[0] if tokens.before else tokens.slots + 1
            if tokens.slots > self.size and n != start and not n < start <= self.size:
                return False
            tokens.cut(n)
            tokens.before = None
        return True

    def allocated(self, size):
        return super().allocated(size) // CAPACITY * self.size

    def used(self, tokens, size):
        return min(tokens.slots, self.size) * BATCH * HEADS * (DIM + V_DIM) * size


class Kept(Ring):
    """A ring behind the first tokens of each row; a slot is the number of a token, or -1."""

    size = SINKS + WINDOW

    def make(self, lib, dtype="float64", blocks=None, **where):
        sizes = {"window": WINDOW, "sink_tokens": SINKS, "v_head_dim": V_DIM, "dtype": dtype}
        return lib.SlidingWindowCache(BATCH, HEADS, DIM, CAPACITY, **sizes, **where)

    def held(self, slots, pads=NO_PADS):
        table = np.full((BATCH, min(slots, self.size)), -1)
        for row, pad in enumerate(pads):
            for number in range(slots):
                if pad <= number < pad + SINKS:
                    table[row, number - pad] = number
                elif number >= max(pad + SINKS, slots - WINDOW):
                    table[row, SINKS + (number - SINKS) % WINDOW] = number
        return table

    def answer(self, before, slots, pads=NO_PADS):
        if slots - before == 1 or slots <= self.size:
            return self.held(slots, pads)
        held, chunk = self.held(before, pads), np.tile(np.arange(before, slots), (BATCH, 1))
        if before >= self.size:  # its oldest is too far back for all of the chunk
            held = np.delete(held, SINKS + (before - SINKS) % WINDOW, axis=1)
        return np.concatenate([held, chunk], axis=1)

    def check_answer(self, slots, tokens, before):
        for row, pad in zip(slots, tokens.pads, strict=True):
            given = row[row >= pad].tolist()
            assert len(set(given)) == len(given)
            last = range(max(pad, before - WINDOW + 1), tokens.slots)
            assert {*range(pad, min(pad + SINKS, tokens.slots)), *last} <= set(given)


class Paged(Contiguous):
    def make(self, lib, dtype="float64", blocks=CAPACITY // BLOCK * BATCH, **where):
        sizes = {"block_size": BLOCK, "v_head_dim": V_DIM, "dtype": dtype}
        pool = lib.BlockPool(blocks, HEADS, DIM, **sizes, **where)
        return lib.PagedKVCache(pool, BATCH)

    def allocated(self, size):
        return 0  # blocks are taken as tokens come


class Quantised(Contiguous):
    """Keys of so many bits by channel or by token, values of so many by token."""

    def __init__(self, k_bits, v_bits, key_axis="channel"):
        self.k_bits, self.v_bits, self.key_axis = k_bits, v_bits, key_axis

    def make(self, lib, dtype="float64", blocks=None, **where):
        return lib.QuantizedKVCache(
            BATCH,
            HEADS,
            DIM,
            CAPACITY,
            k_bits=self.k_bits,
            v_bits=self.v_bits,
            key_axis=self.key_axis,
            group_size=GROUP,
            residual=RESIDUAL,
            v_head_dim=V_DIM,
            dtype=dtype,
            **where,
        )

    def after_append(self, tokens):
        tokens.sealed += max(0, tokens.slots - tokens.sealed - RESIDUAL) // GROUP * GROUP

    def crop(self, tokens, n):
        if n > tokens.slots:
            return False
        start, sealed = tokens.before or (-1, 0)
        if sealed <= n <= start:
            tokens.sealed = sealed
        if n < tokens.sealed:
            return False
        tokens.cut(n)
        if n <= start:
            tokens.before = None
        return True

    def error(self, tokens):
        """Half a step of each group: of a channel of some tokens, or some channels of a token."""
        halves = super().error(tokens)
        kinds = ((tokens.k, self.k_bits, self.key_axis), (tokens.v, self.v_bits, "token"))
        for half, (x, bits, axis) in zip(halves, kinds, strict=True):
            along = 2 if axis == "channel" else 3
            for first in range(0, (tokens.sealed, x.shape[3])[along - 2], GROUP):
                at = [slice(None), slice(None), slice(tokens.sealed), slice(None)]
                at[along] = slice(first, first + GROUP)
                group = x[tuple(at)]
                half[tuple(at)] = np.ptp(group, axis=along, keepdims=True) / 2 / (2**bits - 1)
        return halves

    def group_bytes(self, size):
        k_scales = DIM if self.key_axis == "channel" else GROUP * -(-DIM // GROUP)
        scales = 2 * max(size, 4) * (k_scales + GROUP * -(-V_DIM // GROUP))
        codes = GROUP * (self.k_bits * DIM + self.v_bits * V_DIM) // 8
        return BATCH * HEADS * (codes + scales)

    def allocated(self, size):
        groups = (CAPACITY - RESIDUAL) // GROUP * self.group_bytes(size)
        return groups + (RESIDUAL + GROUP - 1) * BATCH * HEADS * (DIM + V_DIM) * size

    def used(self, tokens, size):
        kept = (tokens.slots - tokens.sealed) * BATCH * HEADS * (DIM + V_DIM) * size
        return tokens.sealed // GROUP * self.group_bytes(size) + kept


class Floats(Quantised):
    """Small floats, each token by itself; its scale is that of 16 channels, or of all heads."""

    def __init__(self, form):
        self.form, self.k_bits = form, 4  # no finer: E4M3 has a sign and 3 bits of mantissa

    def make(self, lib, dtype="float64", blocks=None, **where):
        options = {"residual": RESIDUAL, "v_head_dim": V_DIM, "dtype": dtype}
        sizes = (BATCH, HEADS, DIM, CAPACITY)
        return lib.QuantizedKVCache(*sizes, format=self.form, **options, **where)

    def after_append(self, tokens):
        tokens.sealed = max(tokens.sealed, tokens.slots - RESIDUAL)

    def crop(self, tokens, n):
        if n > tokens.slots:
            return False
        if n < tokens.slots:
            start, sealed = tokens.before or (-1, 0)
            tokens.sealed = sealed if sealed <= n <= start else min(n, tokens.sealed)
            tokens.before = None
            tokens.cut(n)
        return True

    def error(self, tokens):
        """Half a step of E4M3, and of E2M1 the largest half step and a scale rounded up."""
        found = []
        for x in (tokens.k, tokens.v):
            largest = np.abs(x).max(axis=-1, keepdims=True)
            bound = np.abs(x) / 16 + 2.0**-10 if self.form == "fp8" else largest / 6 * 17 / 16
            found.append(np.where(np.arange(tokens.slots)[:, None] < tokens.sealed, bound, 0))
        return found

    def group_bytes(self, size):
        one = {"fp8": DIM + V_DIM, "nvfp4": 2 + 1 + 3 + 1}  # an odd code has a byte of its own
        return BATCH * HEADS * one[self.form]

    def allocated(self, size):
        sealed = (CAPACITY - RESIDUAL) * self.group_bytes(size)
        return sealed + RESIDUAL * BATCH * HEADS * (DIM + V_DIM) * size

    def used(self, tokens, size):
        kept = (tokens.slots - tokens.sealed) * BATCH * HEADS * (DIM + V_DIM) * size
        return tokens.sealed * self.group_bytes(size) + kept


class Latent(Contiguous):
    heads = 1

    def make(self, lib, dtype="float64", blocks=None, **where):
        return lib.LatentCache(BATCH, DIM, V_DIM, CAPACITY, dtype=dtype, **where)

    def into(self, array):
        return array[:, 0]

    def out(self, array):
        assert array.ndim == 3
        return np.repeat(array[:, None], HEADS, axis=1)


KINDS = {
    "contiguous": Contiguous(),
    "ring": Ring(),
    "ring and first tokens": Kept(),
    "paged": Paged(),
    "8 bits": Quantised(8, 8),
    "4 bits": Quantised(4, 4),
    "2 bits by token": Quantised(2, 4, "token"),
    "fp8": Floats("fp8"),
    "nvfp4": Floats("nvfp4"),
    "latent": Latent(),
}


@pytest.fixture(params=KINDS, scope="session")
def kind(request):
    return KINDS[request.param]


def random(rng, new, dtype="float64"):
    """Keys and values, the same in both heads: a latent has but one."""
    arrays = (rng.standard_normal((BATCH, 1, new, width)) for width in (DIM, V_DIM))
    return [np.repeat(array, HEADS, axis=1).astype(dtype) for array in arrays]


def append(lib, kind, cache, k, v, positions=None):
    places = None if positions is None else lib.array(positions)
    given_arrays = (lib.array(kind.into(array)) for array in (k, v))
    k_all, v_all, kv_positions = cache.append(*given_arrays, positions=places)
    return kind.out(lib.numpy(k_all)), kind.out(lib.numpy(v_all)), lib.numpy(kv_positions)


def view(lib, kind, cache):
    k, v, positions = (lib.numpy(array) for array in cache.view())
    return kind.out(k), kind.out(v), positions


def arrays_of(cache):
    """Every array that the cache or its pool keeps, by name."""
    own = {**vars(cache), **vars(getattr(cache, "pool", cache))}
    own |= {f"array {i}": array for i, array in enumerate(cache._state.arrays)}
    own |= {"rows": cache._state.rows}
    return {name: array for name, array in own.items() if hasattr(array, "nbytes")}


def poisoned(cache):
    """A fresh cache in which every number that nobody wrote is NaN, every code the largest."""
    for array in arrays_of(cache).values():
        if "float" in str(array.dtype):
            array[...] = float("nan")
        elif "uint8" in str(array.dtype):
            array[...] = 255
    return cache


def compare(found, tokens, slots, errors):
    """These arrays hold these slots of the list."""
    k, v, positions = found
    assert positions.tolist() == positions_in(tokens, slots).tolist()
    slots = np.broadcast_to(np.asarray(slots, int), positions.shape)
    for array, expected, error in zip((k, v), (tokens.k, tokens.v), errors, strict=True):
        assert array.shape == (BATCH, HEADS, slots.shape[1], expected.shape[3])
        for row, at in enumerate(slots):
            shown = at >= 0  # what lies in an empty slot is nobody's
            bound = error[row][:, at[shown]]
            off = np.abs(array[row][:, shown] - expected[row][:, at[shown]])
            assert (off <= bound * (1 + 1e-9) + 1e-12 * (bound > 0)).all()


def positions_in(tokens, slots):
    """What slots of the list say, (batch, slots); -1 where it is no slot."""
    slots = np.broadcast_to(np.asarray(slots, int), (BATCH, np.shape(slots)[-1]))
    if not tokens.slots:
        return slots
    return np.where(slots < 0, -1, np.take_along_axis(tokens.positions, slots, axis=1))


def check(lib, kind, cache, tokens):
    """All that a cache says about itself is what the list says."""
    held = kind.held(tokens.slots, tokens.pads)
    compare(view(lib, kind, cache), tokens, held, kind.error(tokens))
    assert cache.batch == BATCH
    assert cache.slots == tokens.slots
    assert lib.numpy(cache.length).tolist() == (tokens.positions >= 0).sum(axis=1).tolist()
    padded = bool((positions_in(tokens, held) < 0).any())
    straight = (tokens.positions == np.arange(tokens.slots)).all()
    if isinstance(kind, Ring):  # it may forget that rows have become alike
        assert not (cache.last_sees_all and padded)
        assert cache.last_sees_all or not tokens.plain
    else:
        assert cache.last_sees_all == (not padded)
        assert cache.contiguous == straight
    if not isinstance(kind, Paged):  # pages depend on what is shared: tests of their own
        assert cache.used_bytes == kind.used(tokens, 8)
        assert cache.allocated_bytes == kind.allocated(8)
    if tokens.slots + 2 <= CAPACITY:
        places = np.broadcast_to(lib.numpy(cache.next_positions(2)), (BATCH, 2))
        assert places.tolist() == tokens.next(2).tolist()


def add(lib, kind, cache, tokens, rng, positions, *, given_positions):
    """One append to both, and what it gives: all that the new tokens may attend to."""
    start, new = tokens.slots, positions.shape[1]
    k, v = random(rng, new)
    errors = kind.error(tokens)  # old tokens come as they are held, new ones as they came
    tokens.append(k, v, positions)
    errors = [np.concatenate([e, np.zeros((*e.shape[:2], new, e.shape[3]))], 2) for e in errors]
    found = append(lib, kind, cache, k, v, positions if given_positions else None)
    slots = kind.answer(start, tokens.slots, tokens.pads)
    compare(found, tokens, slots, errors)
    kind.check_answer(slots, tokens, start)
    if cache.contiguous or tokens.plain:
        kept = lib.numpy(cache.view()[2])
        assert cache.contiguous == bool((kept == np.arange(kept.shape[1])).all())
    kind.after_append(tokens)


def step(lib, kind, cache, tokens, rng, name, argument):
    """One operation on both."""
    if name == "append":
        new = min(argument, CAPACITY - tokens.slots)
        if new:
            add(lib, kind, cache, tokens, rng, tokens.next(new), given_positions=False)
    elif name == "positions":
        jumps, pads = argument
        if tokens.slots + 4 > CAPACITY:
            return
        positions = tokens.next(4) + np.array(jumps)[:, None]
        begun = tokens.positions.max(axis=1, initial=-1) >= 0
        for row in np.flatnonzero(~begun):  # padding stands before a row's first token
            positions[row] = np.arange(4) - pads[row]
        positions = np.maximum(positions, -1)
        tokens.plain = False
        add(lib, kind, cache, tokens, rng, positions, given_positions=True)
    elif name == "crop":
        trial = copy.deepcopy(tokens)
        if kind.crop(trial, argument):
            cache.crop(argument)
            tokens.__dict__.update(trial.__dict__)
        else:
            with pytest.raises(CacheStateError, match=f"cannot keep {argument} "):
                cache.crop(argument)
    elif name == "back":
        if tokens.before and tokens.before[0] <= tokens.slots:
            n = tokens.before[0]
            assert kind.crop(tokens, n)  # the latest append can always be taken back
            cache.crop(n)
    else:
        cache.reorder(lib.array(np.array(argument)))
        tokens.reorder(argument)


rows_of = st.lists(st.integers(0, BATCH - 1), min_size=BATCH, max_size=BATCH)
small = st.lists(st.integers(0, 3), min_size=BATCH, max_size=BATCH)
steps_of = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 8)),
        st.tuples(st.just("append"), st.just(1)),
        st.tuples(st.just("positions"), st.tuples(small, small)),
        st.tuples(st.just("crop"), st.integers(0, CAPACITY)),
        st.tuples(st.just("back"), st.just(0)),
        st.tuples(st.just("reorder"), rows_of),
        st.tuples(st.just("fork"), st.just(0)),
    ),
    min_size=1,
    max_size=12,
)


@given(steps=steps_of, seed=st.integers(0, 999))
def test_any_sequence_of_operations_equals_a_list(lib, kind, steps, seed):
    equals_a_list(lib, kind, steps, seed)


def as_on_a_device():
    """PyTorch, where the ring's positions lie once more in memory of their own, as on a GPU."""
    import mini_attn.torch as mt

    class Apart(mt.SlidingWindowCache):
        def _lay_out(self, slots, kind, device):
            super()._lay_out(slots, kind, device)
            self._shares_memory = False

        def _array(self, integers):
            return super()._array(integers).clone()

    lib = _Torch()
    lib.SlidingWindowCache = Apart
    return lib


RINGS = pytest.mark.parametrize("name", ["ring", "ring and first tokens"])


@RINGS
@given(steps=steps_of, seed=st.integers(0, 999))
def test_positions_on_a_device_follow_those_on_the_host(name, steps, seed):
    equals_a_list(as_on_a_device(), KINDS[name], steps, seed)


@RINGS
def test_positions_on_a_device_are_put_back_after_an_unfinished_step(name, rng):
    kind, lib, tokens = KINDS[name], as_on_a_device(), Tokens()
    cache = kind.make(lib)
    for new in (8, 1):
        step(lib, kind, cache, tokens, rng, "append", new)
    staged(lib, kind, cache, rng, 4, Transaction())
    check(lib, kind, cache, tokens)


def equals_a_list(lib, kind, steps, seed):
    rng = np.random.default_rng(seed)
    cache, tokens = poisoned(kind.make(lib, blocks=400)), Tokens()
    forks = []
    for name, argument in steps:
        if name == "fork":
            forks.append((cache.fork(), copy.deepcopy(tokens)))
        else:
            step(lib, kind, cache, tokens, rng, name, argument)
        check(lib, kind, cache, tokens)
    for fork, held in forks:  # nothing that happened since reached a fork, nor goes back
        check(lib, kind, fork, held)
        for name, argument in (("back", 0), ("append", 7), ("append", 1), ("back", 0)):
            step(lib, kind, fork, held, rng, name, argument)
            check(lib, kind, fork, held)
    check(lib, kind, cache, tokens)


# --- attention over it is the full pass --------------------------------------------------------


def attend(lib, kind, q, held, q_positions):
    k, v, kv_positions = held
    rule = {"window": WINDOW} if isinstance(kind, Ring) else {}
    rule |= {"sink_tokens": SINKS} if isinstance(kind, Kept) else {}
    options = {"q_positions": lib.array(q_positions), "kv_positions": lib.array(kv_positions)}
    out = lib.scaled_dot_product_attention(
        *(lib.array(array) for array in (q, k, v)), causal=True, **rule, **options
    )
    return lib.numpy(out)


@given(
    chunks=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    pads=st.lists(st.integers(0, 4), min_size=BATCH, max_size=BATCH),
    seed=st.integers(0, 99),
)
def test_attention_in_any_chunks_is_the_full_pass(lib, kind, chunks, pads, seed):
    """Rows padded on the left by any lengths; codes within the bound that half steps give."""
    rng = np.random.default_rng(seed)
    ends = np.minimum(np.cumsum([max(pads) + 1, *chunks]), CAPACITY)
    chunks = np.diff([0, *ends])
    seq = int(ends[-1])
    k, v = random(rng, seq)
    q = rng.standard_normal((BATCH, 2 * HEADS, seq, DIM))
    positions = np.maximum(np.arange(seq) - np.array(pads)[:, None], -1)
    exact = attend(lib, kind, q, (k, v, positions), positions)
    cache, start, parts, tokens = kind.make(lib), 0, [], Tokens()
    for new in (int(new) for new in chunks if new):
        at = slice(start, start + new)
        first = positions[:, at] if not start else None
        held = append(lib, kind, cache, k[:, :, at], v[:, :, at], first)
        parts.append(attend(lib, kind, q[:, :, at], held, positions[:, at]))
        tokens.append(k[:, :, at], v[:, :, at], positions[:, at])
        kind.after_append(tokens)
        start += new
    off = np.abs(np.concatenate(parts, axis=2) - exact)
    if not tokens.sealed:
        np.testing.assert_allclose(off, 0, atol=1e-12)
    half_k, half_v = (np.repeat(each, 2, axis=1) for each in kind.error(tokens))
    # A score is off by at most so much, so each weight by at most the factor exp(2 * off).
    score = DIM**-0.5 * np.einsum("bhqd,bhkd->bhqk", np.abs(q), half_k).max(axis=3)
    spread = np.ptp(np.repeat(v, 2, axis=1), axis=2) / 2
    bound = np.expm1(2 * score)[..., None] * spread[:, :, None] + half_v.max(axis=2)[:, :, None]
    assert (off <= bound + 1e-12).all()
    assert off.max() < 0.02 or getattr(kind, "k_bits", 8) < 8


# --- types, modes, memory ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numbers_come_back_as_they_came(lib, kind, rng, dtype):
    cache = kind.make(lib, dtype)
    k, v = random(rng, RESIDUAL, dtype)
    for found in (append(lib, kind, cache, k, v), view(lib, kind, cache)):
        for array, given_array in zip(found, (k, v), strict=False):
            assert array.dtype == dtype
            np.testing.assert_array_equal(array, given_array)
    size = np.dtype(dtype).itemsize
    assert cache.used_bytes == RESIDUAL * BATCH * kind.heads * (DIM + V_DIM) * size
    assert cache.allocated_bytes == (kind.allocated(size) or cache.used_bytes)


def test_bfloat16_comes_back_as_it_came(kind, rng):
    import torch

    import mini_attn.torch as mt

    cache = kind.make(mt, "bfloat16")
    k, v = (torch.from_numpy(kind.into(array)).bfloat16() for array in random(rng, RESIDUAL))
    for found in (cache.append(k, v), cache.view()):
        assert torch.equal(found[0], k)
        assert torch.equal(found[1], v)
    index = torch.tensor([2, 2, 0], dtype=torch.int8)
    cache.reorder(index)
    assert torch.equal(cache.view()[0], k[index.long()])


@pytest.mark.parametrize("made_inside", [True, False])
def test_a_torch_cache_outlives_inference_mode(kind, made_inside):
    """Made or filled inside, it can be filled, cropped, reordered and forked outside."""
    import torch

    import mini_attn.torch as mt

    rng, lib, tokens = np.random.default_rng(1), _Torch(), Tokens()
    if made_inside:
        with torch.inference_mode():
            cache = kind.make(mt)
    else:
        cache = kind.make(mt)
    script = [
        ("positions", ([0, 1, 2], [2, 0, 1])),
        ("append", 7),
        ("append", 1),
        ("back", 0),
        ("reorder", [1, 0, 0]),
        ("append", 6),
    ]
    for number, (name, argument) in enumerate(script):
        with torch.inference_mode(mode=number % 2 == 0):
            step(lib, kind, cache, tokens, rng, name, argument)
    fork = cache.fork()
    step(lib, kind, cache, tokens, rng, "back", 0)
    check(lib, kind, cache, tokens)
    held = append(lib, kind, fork, *random(rng, 1))
    assert not np.isnan(held[0]).any()
    k, v = (torch.from_numpy(kind.into(a)).requires_grad_() for a in random(rng, 2))
    for array in (*cache.append(k, v)[:2], *cache.view()[:2]):
        assert not array.requires_grad


def test_decoding_never_waits_for_the_device(kind):
    """On a device without numbers: to ask for one is an error."""
    import torch

    import mini_attn.torch as mt

    cache = kind.make(mt, device="meta")
    for new in (7, 1, 1, 1, 3):
        places = cache.next_positions(new)
        rows = (torch.zeros(BATCH, HEADS, new, width, device="meta") for width in (DIM, V_DIM))
        found = cache.append(*(kind.into(array).double() for array in rows))
        assert {array.device.type for array in (places, *found)} == {"meta"}
        given = kind.answer(cache.slots - new, cache.slots)
        assert found[2].shape[1] == np.shape(given)[-1]
    cache.crop(10)
    assert cache.fork().slots == 10


class _Torch:
    """Arrays in and out of PyTorch."""

    name = "torch"

    def array(self, values):
        import torch

        return torch.from_numpy(np.array(values))

    def numpy(self, tensor):
        return tensor.numpy()


@pytest.mark.parametrize("index_dtype", ["int8", "uint8", "int32", "int64"])
def test_rows_follow_an_index_of_any_integers(lib, kind, rng, index_dtype):
    cache, tokens = kind.make(lib), Tokens()
    step(lib, kind, cache, tokens, rng, "positions", ([0, 1, 2], [3, 0, 1]))
    step(lib, kind, cache, tokens, rng, "append", 5)
    step(lib, kind, cache, tokens, rng, "append", 3)
    cache.reorder(lib.array([2, 0, 2], index_dtype))
    tokens.reorder([2, 0, 2])
    check(lib, kind, cache, tokens)
    fork, held = cache.fork(), copy.deepcopy(tokens)
    for name in ("back", "append"):  # what can be taken back has gone with its rows
        step(lib, kind, fork, held, rng, name, 1)
        check(lib, kind, fork, held)
    step(lib, kind, cache, tokens, rng, "append", 2)  # repeated rows write into their own memory
    check(lib, kind, cache, tokens)


def test_what_comes_in_is_not_kept_by_reference(lib, kind, rng):
    cache, tokens = kind.make(lib), Tokens()
    k, v = random(rng, 2)
    given_arrays = [lib.array(kind.into(array)) for array in (k, v)]
    places = lib.array(np.arange(2))
    cache.append(*given_arrays, positions=places)
    for array in (*given_arrays, places):
        array[...] = 77
    tokens.append(k, v, np.tile(np.arange(2), (BATCH, 1)))
    kind.after_append(tokens)
    check(lib, kind, cache, tokens)


# --- bad input leaves a cache as it was --------------------------------------------------------


def wrong(shape, dtype="float64"):
    return np.zeros(shape, dtype)


APPENDS = {
    "too many tokens": (CacheOverflowError, {"new": 8}),
    "no tokens": (ShapeError, {"new": 0}),
    "another batch": (ShapeError, {"k": wrong((2, HEADS, 1, DIM))}),
    "another key size": (ShapeError, {"k": wrong((BATCH, HEADS, 1, 7))}),
    "another value size": (ShapeError, {"v": wrong((BATCH, HEADS, 1, 7))}),
    "more values than keys": (ShapeError, {"v": wrong((BATCH, HEADS, 2, V_DIM))}),
    "keys of another type": (DTypeError, {"k": wrong((BATCH, HEADS, 1, DIM), "float32")}),
    "values of another type": (DTypeError, {"v": wrong((BATCH, HEADS, 1, V_DIM), "float32")}),
    "whole positions only": (DTypeError, {"positions": np.array([17.0])}),
    "too many positions": (ShapeError, {"positions": np.array([17, 18])}),
    "a position below -1": (ConfigError, {"positions": np.array([-2])}),
    "a position that was": (ConfigError, {"positions": np.array([16])}),
    "one row of three back": (ConfigError, {"positions": np.array([[17], [0], [17]])}),
}
OTHERS = {
    "a crop beyond the end": (CacheStateError, lambda lib, cache: cache.crop(18)),
    "a crop below 0": (ConfigError, lambda lib, cache: cache.crop(-1)),
    "half a slot": (ConfigError, lambda lib, cache: cache.crop(0.5)),
    "too few rows": (ShapeError, lambda lib, cache: cache.reorder(lib.array([0, 1]))),
    "a row that is not": (ConfigError, lambda lib, cache: cache.reorder(lib.array([0, 1, 3]))),
    "a negative row": (ConfigError, lambda lib, cache: cache.reorder(lib.array([0, 1, -1]))),
    "fractional rows": (DTypeError, lambda lib, cache: cache.reorder(lib.array([0.0, 1.0, 2.0]))),
    "rows by a mask": (DTypeError, lambda lib, cache: cache.reorder(lib.array([True] * 3))),
    "no room to come": (CacheOverflowError, lambda lib, cache: cache.next_positions(8)),
    "no token to come": (ConfigError, lambda lib, cache: cache.next_positions(0)),
}


def state(lib, cache):
    held = {name: lib.numpy(array).tobytes() for name, array in arrays_of(cache).items()}
    pool = getattr(cache, "pool", None)
    free = None if pool is None else (pool.n_free, copy.deepcopy(cache.block_table))
    said = cache.slots, cache.contiguous, cache.last_sees_all, cache.used_bytes, free
    return held, said


@pytest.mark.parametrize("case", [*APPENDS, *OTHERS])
def test_a_refusal_changes_nothing(lib, kind, rng, case):
    cache, tokens = kind.make(lib), Tokens()
    for new in (8, 8, 1):
        step(lib, kind, cache, tokens, rng, "append", new)
    before = state(lib, cache)
    if case in OTHERS:
        error, act = OTHERS[case]
        with pytest.raises(error):
            act(lib, cache)
    else:
        error, given_arrays = APPENDS[case]
        given_arrays = dict(given_arrays)
        k, v = random(rng, given_arrays.pop("new", 1))
        arguments = {"k": k, "v": v, **given_arrays}
        with pytest.raises(error):
            append(lib, kind, cache, **arguments)
    assert state(lib, cache) == before
    check(lib, kind, cache, tokens)
    step(lib, kind, cache, tokens, rng, "back", 0)  # nor what can be taken back
    check(lib, kind, cache, tokens)


# --- steps of several parts --------------------------------------------------------------------


def staged(lib, kind, cache, rng, new, transaction):
    """Tokens appended within a step that is not done."""
    arrays = (lib.array(array[:, : kind.heads]) for array in random(rng, new))
    return cache._append(*arrays, None, transaction)


OTHER_USES = {
    "a look": lambda lib, cache: cache.view(),
    "a fork": lambda lib, cache: cache.fork(),
    "a crop": lambda lib, cache: cache.crop(cache.slots),
    "a reorder": lambda lib, cache: cache.reorder(lib.array([0, 1, 2])),
}


@pytest.mark.parametrize("use", OTHER_USES)
def test_a_step_that_another_has_overtaken_cannot_be_done(lib, kind, rng, use):
    cache, tokens, transaction = kind.make(lib), Tokens(), Transaction()
    for new in (8, 1):
        step(lib, kind, cache, tokens, rng, "append", new)
    for new in (3, 1):
        staged(lib, kind, cache, rng, new, transaction)
    OTHER_USES[use](lib, cache)
    with pytest.raises(CacheStateError, match="another step has used one of the caches"):
        transaction.commit()
    check(lib, kind, cache, tokens)


def test_a_step_after_an_unfinished_one_begins_from_before_it(lib, kind, rng):
    """Nobody has looked in between."""
    cache, tokens, transaction = kind.make(lib), Tokens(), Transaction()
    for new in (8, 1):
        step(lib, kind, cache, tokens, rng, "append", new)
    staged(lib, kind, cache, rng, 4, transaction)
    k, v = random(rng, 2)
    append(lib, kind, cache, k, v)
    tokens.append(k, v, tokens.next(2))
    kind.after_append(tokens)
    check(lib, kind, cache, tokens)
    with pytest.raises(CacheStateError, match="another step"):
        transaction.commit()


@pytest.mark.parametrize("kind", [Ring(), Kept()], ids=["ring", "ring and first tokens"])
def test_a_long_prompt_in_chunks_puts_no_more_than_the_ring_aside(lib, kind, rng):
    tokens, transaction = Tokens(), Transaction()
    cache = kind.make(lib)
    step(lib, kind, cache, tokens, rng, "append", 8)
    for _ in range(5):
        staged(lib, kind, cache, rng, 3, transaction)
    before, _, _, overwritten = cache._cell[0]
    for array in before.arrays:
        aside = sum(old.nbytes for other, _, old in overwritten if other is array)
        assert aside * kind.size == array.nbytes * WINDOW
    check(lib, kind, cache, tokens)  # a look ends the step, and puts all of it back


def test_what_a_cache_tells_is_the_callers(lib, kind, rng):
    cache, tokens = kind.make(lib), Tokens()
    step(lib, kind, cache, tokens, rng, "positions", ([0, 1, 2], [3, 0, 1]))
    cache.length[...] = 77
    cache.next_positions(2)[...] = 77
    check(lib, kind, cache, tokens)


@pytest.mark.parametrize("positions", [None, np.array([-1, 0, 1])])
def test_a_view_cannot_be_written_in_numpy(rng, positions):
    """Where it shares the cache's memory; PyTorch cannot forbid it."""
    import mini_attn.numpy as ma

    for kind in KINDS.values():
        cache = kind.make(ma)
        given_arrays = [kind.into(array) for array in random(rng, 3)]
        for found in (cache.append(*given_arrays, positions=positions), cache.view()):
            for array in found:
                shared = any(np.shares_memory(array, own) for own in arrays_of(cache).values())
                assert not (shared and array.flags.writeable)
