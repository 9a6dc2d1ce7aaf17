"""A step that is interrupted anywhere has never happened: faults at every call, in every cache.

The fault is no `Exception`, as Ctrl-C is none, and it strikes at the n-th call of a Python
function of this package, inside commits and undoing too; under `soak` at every line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from inspect import CO_GENERATOR
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mini_attn
from mini_attn.config import (
    AttentionConfig,
    DecoderConfig,
    KeepHeavyHitters,
    KeepRecent,
    LatentConfig,
    RopeConfig,
)
from mini_attn.variants import REGISTRY
from tests.forms import appended, small_config

ROOT = str(Path(mini_attn.__file__).parent)
BATCH, CAPACITY, PROMPT = 2, 24, 7
FEWEST = 300  # faults in each kind of cache and each backend; the soak has all


class Struck(BaseException):
    """What is raised in the middle of a step."""


def traced(act: Callable[[], Any], event: str, stop: int | None) -> tuple[bool, int]:
    """Run an act, with a fault at its n-th event in this package; whether it struck, and events."""
    seen, begun = 0, set()

    def trace(frame: Any, kind: str, _: Any) -> Any:
        nonlocal seen
        if not frame.f_code.co_filename.startswith(ROOT):
            return None
        if kind == event and frame not in begun:
            seen += 1
            if event == "call" and frame.f_code.co_flags & CO_GENERATOR:
                begun.add(frame)  # not again: what strikes while it is closed, Python swallows
            if seen == stop:
                raise Struck
        return trace if event == "line" else None

    before = sys.gettrace()  # the caller's own, a debugger's or a coverage run's
    sys.settrace(trace)
    try:
        act()
    except Struck:
        return True, seen
    finally:
        sys.settrace(before)
    return False, seen


def struck(act: Callable[[], Any], number: int, event: str = "call") -> bool:
    """Whether the n-th event came, at which the act was interrupted."""
    return traced(act, event, number)[0]


def events(act: Callable[[], Any]) -> int:
    """Calls of this package that an act makes when nothing strikes."""
    return traced(act, "call", None)[1]


def decoder(lib: Any, kind: str) -> Any:
    """A decoder of two layers with caches of one kind, or of several."""
    rope = RopeConfig("half")
    gqa = AttentionConfig(8, 4, 4, n_kv_heads=2, rope=rope)
    window = AttentionConfig(8, 4, 4, n_kv_heads=2, rope=rope, window=5)
    kept = replace(window, window=4, sink_tokens=2)
    latent = LatentConfig(8, 2, 6, 4, 2, 3, rope=RopeConfig("interleaved"))
    own = {"ring": window, "kept": kept, "latent": latent, "mixed": (window, latent)}
    own |= {
        name: small_config(REGISTRY[name], head_dim=4, v_head_dim=4, rope=rope) for name in OTHERS
    }
    attentions: Any = own.get(kind, gqa)
    sizes: Any = {"d_ff": 16, "norm": "rms_norm", "mlp": "gated", "positions": "none"}
    layers = attentions if isinstance(attentions, tuple) else (attentions,) * 2
    if kind == "shared":  # two layers keep, and two read them
        layers = (gqa, window, gqa, window)
        sizes["kv_sources"] = (0, 1, 0, 1)
    config = DecoderConfig(32, len(layers), layers, max_positions=64, activation="silu", **sizes)
    return lib.Decoder(config, seed=3)


def caches_of(lib: Any, model: Any, kind: str) -> list[Any]:
    """Caches for the decoder's layers."""
    sizes = (BATCH, 2, 4, CAPACITY)
    if kind == "quantised":
        fewer = {"k_bits": 2, "v_bits": 4, "key_axis": "token", "scale_dtype": "float16"}
        return [
            lib.QuantizedKVCache(*sizes, group_size=4, residual=3, **options)
            for options in ({}, fewer)
        ]
    if kind == "paged":
        pool = lib.BlockPool(40, 2, 4, block_size=3)
        caches = [lib.PagedKVCache(pool, BATCH) for _ in range(2)]
        return caches
    if kind == "evicting":
        policies = (KeepHeavyHitters(recent=2), KeepRecent(sink_tokens=1))
        return [lib.EvictingCache(BATCH, 2, 4, budget=5, policy=policy) for policy in policies]
    return model.new_caches(BATCH, CAPACITY)


OTHERS = [  # whose caches hold more than those named below
    name
    for name, entry in REGISTRY.items()
    if entry.config_class not in ("AttentionConfig", "LatentConfig")
]
# Of which some keep only what the last tokens leave, and count on without gaps.
COUNTED = [name for name in OTHERS if any(field.last for field in REGISTRY[name].cache)]
KINDS = (
    *("contiguous", "ring", "kept", "latent", "mixed", "shared"),
    *("quantised", "paged", "evicting", *OTHERS),
)


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
    lib: Any, caches: list[Any], act: Callable[[list[Any]], Any], every: int = 1
) -> int:
    """Interrupt an act on caches at its calls, every so many; how often that was."""
    own = forks(caches)
    for _ in range(2):  # the first time some answers are still to be found once and for all
        twin = forks(caches)
        last = events(lambda twin=twin: act(twin))
        give_back(twin)
    before, numbers = shown(lib, own), [*range(1, last, every), last]
    for number in numbers:
        assert struck(lambda: act(own), number)
        assert shown(lib, own) == before, number
    twin = forks(caches)
    expected, found = act(twin), act(own)
    if hasattr(expected, "shape"):  # the retry is as if nothing had happened
        np.testing.assert_array_equal(lib.numpy(found), lib.numpy(expected))
    give_back(twin)
    give_back(own)
    return len(numbers)


def give_back(caches: list[Any]) -> None:
    """Let go of the blocks of a pool."""
    for cache in caches:
        if hasattr(cache, "pool"):
            cache.crop(0)


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
        gap = kind not in COUNTED
        padded = np.array([[-1, filled, filled + 1], [filled, filled + 1, filled + 2 + gap]])
        if kind not in ("ring", "kept", "mixed", "shared", *COUNTED) or not filled:
            positions = lib.array(padded)
            yield (
                caches,
                lambda own, at=positions: model(tokens_of(lib, 3, 4), caches=own, positions=at),
            )
        del kept


@pytest.mark.slow
@pytest.mark.parametrize("every", [53, pytest.param(4, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_step_has_never_happened(lib: Any, kind: str, every: int) -> None:
    found = (strike_everywhere(lib, caches, step, every) for caches, step in steps(lib, kind))
    assert sum(found) * every >= FEWEST


@pytest.mark.parametrize("pads", [(5, 0), (7, 6)])
def test_first_tokens_that_come_behind_padding_have_never_come(lib: Any, pads: Any) -> None:
    """They go to slots that lie among what is shown, while the ring wraps."""
    model = decoder(lib, "kept")
    caches = caches_of(lib, model, "kept")
    places = np.maximum(np.arange(11) - np.array(pads)[:, None], -1)
    begin, more = lib.array(places[:, :6]), lib.array(places[:, 6:])
    model(tokens_of(lib, 6), caches=caches, positions=begin)
    strike_everywhere(
        lib, caches, lambda own: model(tokens_of(lib, 5, 1), caches=own, positions=more)
    )
    model(tokens_of(lib, 5, 1), caches=caches, positions=more)
    assert strike_everywhere(lib, caches[:1], lambda own: own[0].crop(6)) >= 3


def test_a_crop_of_first_tokens_behind_padding_has_never_happened(lib: Any) -> None:
    """It leaves some of them in slots that it has to empty."""
    model = decoder(lib, "kept")
    caches = caches_of(lib, model, "kept")
    places = lib.array(np.maximum(np.arange(6) - np.array([[3], [0]]), -1))
    model(tokens_of(lib, 6), caches=caches, positions=places)
    assert strike_everywhere(lib, caches[:1], lambda own: own[0].crop(4)) >= 3


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_a_step_interrupted_at_any_call_has_never_happened(lib: Any, kind: str) -> None:
    for caches, step in steps(lib, kind):
        strike_everywhere(lib, caches, step)


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupt_at_any_line_leaves_no_trace(lib: Any, kind: str) -> None:
    """Also between the commit and the caller: then the step has happened, in all caches."""
    for caches, step in steps(lib, kind):
        after, number = forks(caches), 1
        step(after)
        states = shown(lib, caches), shown(lib, after)
        own = forks(caches)
        while struck(lambda own=own, step=step: step(own), number, "line"):
            assert shown(lib, own) in states, number  # before or after, never in between
            own, number = forks(caches), number + 1


def operations(lib: Any, model: Any) -> dict[str, Callable[[Any], Any]]:
    rng, config = np.random.default_rng(5), model.config.attentions[0]
    shapes = appended(REGISTRY[config.variant], config, batch=BATCH)
    rows = [lib.array(rng.standard_normal(shape).astype("float32")) for shape in shapes]
    states = REGISTRY[config.variant].length_rule == "state"  # of which no token is taken back
    return {
        "append": lambda caches: caches[0].append(*rows),
        "crop": lambda caches: caches[0].crop(0 if states else caches[0].slots - 1),
        "fork": lambda caches: caches[0].fork(),
        "reorder": lambda caches: caches[0].reorder(lib.array([1, 1])),
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["append", "crop", "fork", "reorder"])
def test_an_interrupted_operation_has_never_happened(lib: Any, kind: str, name: str) -> None:
    model = decoder(lib, kind)
    caches = caches_of(lib, model, kind)
    lib.prefill(model, tokens_of(lib, PROMPT), caches)
    lib.decode_step(model, tokens_of(lib, 1), caches)
    assert strike_everywhere(lib, caches[:1], operations(lib, model)[name]) >= 3


def test_a_fault_inside_the_undoing_does_no_harm(lib: Any) -> None:
    """What puts the old numbers back is interrupted too, at every line, again and again."""
    model = decoder(lib, "ring")
    caches = caches_of(lib, model, "ring")
    lib.prefill(model, tokens_of(lib, 12), caches)
    before, append = shown(lib, caches), operations(lib, model)["append"]
    own, number = forks(caches), 1
    while struck(lambda: append(own), number, "line"):
        again = 1
        while struck(lambda: own[0].view(), again, "line"):  # the first look is interrupted
            again += 1
        if own[0].slots > caches[0].slots:
            break  # the last lines come after the commit
        assert shown(lib, own) == before
        number += 1
    assert number > 20


def test_the_check_can_fail(lib: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that moves on at once, without a transaction, is found."""
    from mini_attn.caching import Slots

    def at_once(self: Any, state: Any, transaction: Any, overwritten: Any = ()) -> None:
        self._begin(state)

    model = decoder(lib, "contiguous")
    caches = caches_of(lib, model, "contiguous")
    monkeypatch.setattr(Slots, "_stage", at_once)
    with pytest.raises(AssertionError):
        strike_everywhere(lib, caches, lambda own: lib.decode_step(model, tokens_of(lib, 1), own))
