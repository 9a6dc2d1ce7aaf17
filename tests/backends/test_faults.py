"""A step that is interrupted anywhere has never happened: faults at every call, in every cache.

The fault is no `Exception`, as Ctrl-C is none, and it strikes at the n-th call of a Python
function of this package, inside commits and undoing too; under `soak` at every line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mini_attn
from mini_attn.config import AttentionConfig, DecoderConfig, LatentConfig, RopeConfig

ROOT = str(Path(mini_attn.__file__).parent)
BATCH, CAPACITY, PROMPT = 2, 24, 7
FEWEST = 300  # faults in all, both backends together


class Struck(BaseException):
    """What is raised in the middle of a step."""


@contextmanager
def striking(number: int, event: str = "call") -> Iterator[list[int]]:
    """Raise `Struck` at the n-th event in this package; the list counts the events."""
    seen = [0]

    def trace(frame: Any, kind: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(ROOT):
            return None
        if kind == event:
            seen[0] += 1
            if seen[0] == number:
                raise Struck
        return trace if event == "line" else None

    # The caller's own tracing (a debugger's, a coverage run's) comes back afterwards.
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield seen
    finally:
        sys.settrace(before)


def decoder(lib: Any, kind: str) -> Any:
    """A decoder of two layers with caches of one kind, or of several."""
    rope = RopeConfig("half")
    gqa = AttentionConfig(8, 4, 4, n_kv_heads=2, rope=rope)
    window = AttentionConfig(8, 4, 4, n_kv_heads=2, rope=rope, window=5)
    latent = LatentConfig(8, 2, 6, 4, 2, 3, rope=RopeConfig("interleaved"))
    attentions: Any = {"ring": window, "latent": latent, "mixed": (window, latent)}.get(kind, gqa)
    sizes = {"d_ff": 16, "norm": "rms_norm", "mlp": "gated", "positions": "none"}
    layers = attentions if isinstance(attentions, tuple) else (attentions,) * 2
    config = DecoderConfig(32, 2, layers, max_positions=64, activation="silu", **sizes)
    return lib.Decoder(config, seed=3)


def caches_of(lib: Any, model: Any, kind: str) -> list[Any]:
    """Caches for the decoder's layers."""
    sizes = (BATCH, 2, 4, CAPACITY)
    if kind == "quantised":
        return [lib.QuantizedKVCache(*sizes, group_size=4, residual=3) for _ in range(2)]
    if kind == "paged":
        pool = lib.BlockPool(40, 2, 4, block_size=3)
        caches = [lib.PagedKVCache(pool, BATCH) for _ in range(2)]
        return caches
    return model.new_caches(BATCH, CAPACITY)


KINDS = ("contiguous", "ring", "latent", "mixed", "quantised", "paged")


def tokens_of(lib: Any, count: int, seed: int = 0) -> Any:
    return lib.array(np.random.default_rng(seed).integers(0, 32, (BATCH, count)))


def shown(lib: Any, caches: list[Any]) -> list[Any]:
    """All that the public side of caches shows."""
    told: list[Any] = []
    for cache in caches:
        told += [lib.numpy(array).tobytes() for array in cache.view()]
        told += [cache.slots, cache.contiguous, cache.last_sees_all, cache.used_bytes]
        told += [lib.numpy(cache.length).tolist(), lib.numpy(cache.next_positions(1)).tolist()]
        told += [getattr(cache, "block_table", None), getattr(cache, "sealed", None)]
        pool = getattr(cache, "pool", None)
        if pool is not None:
            told += [pool.n_free, [pool.references(i) for i in range(pool.n_blocks)]]
    return told


def forks(caches: list[Any]) -> list[Any]:
    return [cache.fork() for cache in caches]


def strike_everywhere(
    lib: Any, caches: list[Any], act: Callable[[], Any], event: str = "call", every: int = 1
) -> int:
    """Interrupt an act at each of its events; how often that was."""
    before, number = shown(lib, caches), 1
    while True:
        with striking(number, event) as seen, pytest.raises(Struck):
            act()
            raise Struck  # it ran to its end: there were fewer events
        if seen[0] < number:
            return number // every
        assert shown(lib, caches) == before, f"{event} {number}"
        number += every


def steps(lib: Any, kind: str) -> Iterator[tuple[list[Any], Callable[[list[Any]], Any]]]:
    """Steps at different fillings: caches, and the step as a function of caches."""
    model = decoder(lib, kind)
    for filled in (0, PROMPT, PROMPT + 5):
        caches = caches_of(lib, model, kind)
        if filled:
            lib.prefill(model, tokens_of(lib, filled), caches)
        kept = forks(caches) if kind == "paged" else []  # last blocks are shared, and copied
        yield caches, lambda own: lib.decode_step(model, tokens_of(lib, 1, 1), own)
        yield caches, lambda own: lib.prefill(model, tokens_of(lib, 8, 2), own, chunk=3)
        padded = np.array([[-1, filled, filled + 1], [filled, filled + 1, filled + 3]])
        if kind not in ("ring", "mixed") or not filled:
            positions = lib.array(padded)
            yield (
                caches,
                lambda own, at=positions: model(tokens_of(lib, 3, 4), caches=own, positions=at),
            )
        del kept


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_step_has_never_happened(lib: Any, kind: str) -> None:
    struck = 0
    for caches, step in steps(lib, kind):
        expected = lib.numpy(step(forks(caches)))
        fresh = forks(caches)  # the same state, held by nobody else
        struck += strike_everywhere(lib, fresh, lambda own=fresh, step=step: step(own))
        np.testing.assert_array_equal(lib.numpy(step(fresh)), expected)
    assert struck * 2 * len(KINDS) >= FEWEST


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupt_at_any_line_leaves_no_trace(lib: Any, kind: str) -> None:
    """All lines but those after the commit, where the step has happened."""
    for caches, step in steps(lib, kind):
        fresh, number = forks(caches), 1
        after = forks(caches)
        step(after)
        states = shown(lib, fresh), shown(lib, after)
        while True:
            own = forks(fresh)
            with striking(number, "line") as seen, pytest.raises(Struck):
                step(own)
                raise Struck
            if seen[0] < number:
                break
            assert shown(lib, own) in states, number  # before or after, never in between
            number += 1


def operations(lib: Any) -> dict[str, Callable[[Any], Any]]:
    rows = np.random.default_rng(5).standard_normal((2, BATCH, 2, 2, 4)).astype("float32")
    k, v = lib.array(rows[0]), lib.array(rows[1])
    return {
        "append": lambda cache: cache.append(k, v),
        "crop": lambda cache: cache.crop(cache.slots - 1),
        "fork": lambda cache: cache.fork(),
        "reorder": lambda cache: cache.reorder(lib.array([1, 1])),
    }


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("latent", "mixed")])
@pytest.mark.parametrize("name", ["append", "crop", "fork", "reorder"])
def test_an_interrupted_operation_has_never_happened(lib: Any, kind: str, name: str) -> None:
    model = decoder(lib, kind)
    caches = caches_of(lib, model, kind)
    lib.prefill(model, tokens_of(lib, PROMPT), caches)
    lib.decode_step(model, tokens_of(lib, 1), caches)
    act = operations(lib)[name]
    assert strike_everywhere(lib, caches[:1], lambda: act(caches[0])) >= 3


def test_a_fault_inside_the_undoing_does_no_harm(lib: Any) -> None:
    """What puts back the old numbers is interrupted too, at every line, again and again."""
    model = decoder(lib, "ring")
    caches = caches_of(lib, model, "ring")
    lib.prefill(model, tokens_of(lib, 12), caches)
    before, step = shown(lib, caches), operations(lib)["append"]
    for number in range(1, 400):
        with striking(number, "line") as seen, pytest.raises(Struck):
            step(caches[0])
            raise Struck
        for again in range(1, 30):  # the first look is interrupted as well
            with striking(again, "line"), pytest.raises(Struck):
                caches[0].view()
                raise Struck
        if seen[0] < number or shown(lib, caches) != before:
            break
    assert number > 20
    # The append ran to its commit: the last lines are those of a step that has happened.
    assert caches[0].slots in (12, 14)


def test_the_check_can_fail(lib: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that moves on at once, without a transaction, is found."""
    from mini_attn.caching import Slots

    def at_once(self: Any, state: Any, transaction: Any, overwritten: Any = ()) -> None:
        self._begin(state)

    model = decoder(lib, "contiguous")
    caches = caches_of(lib, model, "contiguous")
    monkeypatch.setattr(Slots, "_stage", at_once)
    with pytest.raises(AssertionError):
        strike_everywhere(lib, caches, lambda: lib.decode_step(model, tokens_of(lib, 1), caches))
