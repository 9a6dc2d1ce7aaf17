"""Entries that stand for several tokens: what their cache keeps, gives back and refuses."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import mini_attn.numpy
import mini_attn.torch
from mini_attn import cost
from mini_attn.config import (
    AttentionConfig,
    CompressedConfig,
    DecoderConfig,
    DynamicNTK,
    RopeConfig,
    YaRN,
)
from mini_attn.errors import CacheStateError, ConfigError, DTypeError, ShapeError

SIZES = {"d_model": 8, "n_heads": 4, "head_dim": 6, "window": 5, "compress": 3, "sinks": True}
INDEXER = {"index_n_heads": 3, "index_head_dim": 4, "index_topk": 2}
KINDS = {
    "hca": {},
    "csa": INDEXER,
    "hca, direct": {"q_lora_rank": None, "window": 1, "compress": 4},
    "csa, direct": INDEXER | {"q_lora_rank": None, "compress": 1, "window": 30},
    "csa, grouped": INDEXER | {"o_groups": 2, "o_lora_rank": 3, "compress": 2},
}
SEQ = 19
kinds = pytest.mark.parametrize("kind", KINDS)


def config_of(kind="csa", **options):
    rope = RopeConfig("interleaved", theta=50.0, rotary_dim=4)
    return CompressedConfig(**(SIZES | {"q_lora_rank": 5, "rope": rope} | KINDS[kind] | options))


def layer_of(lib, kind="csa", dtype="float64", **options):
    layer = lib.CompressedAttention(config_of(kind, **options), dtype=dtype)
    rng = np.random.default_rng(5)
    layer.load_state_dict(
        {key: rng.standard_normal(tuple(w.shape)) for key, w in layer.state_dict().items()}
    )
    return layer


def run(lib, layer, x, cache=None, positions=None):
    places = None if positions is None else lib.array(positions)
    return lib.numpy(layer(lib.array(x), cache=cache, positions=places))


def in_steps(lib, layer, x, cache, steps, positions=None):
    parts, start = [], 0
    for size in steps:
        some = slice(start, start + size)
        parts.append(
            run(lib, layer, x[:, some], cache, None if positions is None else positions[:, some])
        )
        start += size
    return np.concatenate(parts, axis=1)


def shown(lib, cache):
    """All that the cache shows; of a row's entries those of its own complete spans."""
    arrays = [lib.numpy(array).copy() for array in cache.view()]
    for row, length in enumerate(lib.numpy(cache.length)):
        for entries in arrays[1 : 1 + cache.series]:
            entries[row, :, length // cache.compress :] = 0
    return arrays


def same(first, second):
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


# ---- Rows with padding, other rows, copies ----


@kinds
@pytest.mark.parametrize("steps", [[SEQ], [1] * SEQ, [4, 1, 1, 6, 1, 2, 1, 1, 2]], ids=len)
def test_a_padded_batch_is_its_rows_alone(lib, rng, kind, steps):
    """Rows complete their spans in other steps; one has nothing but padding at first."""
    layer, lengths = layer_of(lib, kind), (SEQ, SEQ - 2, SEQ - 7, 1)
    rows = [rng.standard_normal((1, n, 8)) for n in lengths]
    x = rng.standard_normal((4, SEQ, 8))
    positions = np.maximum(np.arange(SEQ) - (SEQ - np.array(lengths)[:, None]), -1)
    for i, row in enumerate(rows):
        x[i, SEQ - row.shape[1] :] = row[0]
    cache = layer.new_cache(4, SEQ + 2)
    for out in (
        run(lib, layer, x, positions=positions),
        in_steps(lib, layer, x, cache, steps, positions),
    ):
        for i, row in enumerate(rows):
            alone = run(lib, layer, row)
            np.testing.assert_allclose(out[i : i + 1, -row.shape[1] :], alone, atol=1e-11)
    assert lib.numpy(cache.length).tolist() == list(lengths)
    same([lib.numpy(cache.next_positions(2))], [np.array(lengths)[:, None] + np.arange(2)])


@kinds
def test_reordered_rows_and_a_fork_go_on_alone(lib, rng, kind):
    layer, x = layer_of(lib, kind), rng.standard_normal((3, SEQ, 8))
    positions = np.maximum(np.arange(11) - np.array([[0], [2], [5]]), -1)
    cache, index = layer.new_cache(3, SEQ + 4), np.array([2, 0, 2])
    run(lib, layer, x[:, :11], cache, positions)
    before, twin = shown(lib, cache), cache.fork()
    twin.reorder(lib.array(index))
    moved = run(lib, layer, x[:, 11:], twin)
    same(shown(lib, cache), before)  # the original has not moved
    stayed = run(lib, layer, x[:, 11:], cache)
    for i, row in enumerate(index):
        pad = int((positions[row] < 0).sum())
        text = np.concatenate([x[row, pad:11], x[i, 11:]])[None]
        alone = run(lib, layer, text)[:, 11 - pad :]
        np.testing.assert_allclose(moved[i : i + 1], alone, atol=1e-11)
    alone = run(lib, layer, x[:1])
    np.testing.assert_allclose(stayed[:1], alone[:, 11:], atol=1e-11)


# ---- What can be taken back ----


@kinds
@pytest.mark.parametrize("latest", [1, 2, 5, 8])
def test_the_latest_append_can_be_taken_back(lib, rng, kind, latest):
    layer, x = layer_of(lib, kind), rng.standard_normal((2, SEQ, 8))
    positions = np.maximum(np.arange(SEQ) - np.array([[0], [2]]), -1)
    cache, begin = layer.new_cache(2, SEQ), SEQ - 8
    in_steps(lib, layer, x, cache, [4, begin - 4], positions)
    before = shown(lib, cache)
    other = rng.standard_normal((2, latest, 8))
    run(lib, layer, other, cache)
    cache.crop(begin)
    same(shown(lib, cache), before)
    out = run(lib, layer, x[:, begin:], cache)
    expected = run(lib, layer, x, positions=positions)[:, begin:]
    np.testing.assert_allclose(out, expected, atol=1e-11)
    cache.crop(0)  # and so can everything
    assert cache.slots == 0
    out = run(lib, layer, x, cache, positions)
    np.testing.assert_allclose(out[:, begin:], expected, atol=1e-11)


@kinds
@pytest.mark.parametrize("kept", [1, 2, 3, 4])
def test_before_a_ring_wraps_any_crop_will_do(lib, rng, kind, kept):
    """Of a row that began with padding as many tokens go as of the others."""
    layer, x = layer_of(lib, kind, window=9, compress=5), rng.standard_normal((2, SEQ, 8))
    positions = np.maximum(np.arange(SEQ) - np.array([[0], [2]]), -1)
    cache = layer.new_cache(2, SEQ)
    run(lib, layer, rng.standard_normal((2, 5, 8)), cache, positions[:, :5])
    cache.crop(kept)
    assert lib.numpy(cache.length).tolist() == [kept, max(kept - 2, 0)]
    cache.crop(0)
    in_steps(lib, layer, x, cache, [3, 2], positions)
    cache.crop(kept)
    places = positions[:, kept:] if kept == 1 else None  # there is padding to come
    out = run(lib, layer, x[:, kept:], cache, places)
    expected = run(lib, layer, x, positions=positions)
    np.testing.assert_allclose(
        out[positions[:, kept:] >= 0], expected[:, kept:][positions[:, kept:] >= 0], atol=1e-11
    )


def test_a_crop_into_a_closed_span_is_refused(lib, rng):
    """The tokens of a span are gone with its entry; while no ring has wrapped they are there."""
    layer, x = layer_of(lib), rng.standard_normal((1, SEQ, 8))
    cache = layer.new_cache(1, SEQ)
    in_steps(lib, layer, x, cache, [3, 2])
    cache.crop(2)
    for size in (3, 1, 1, 4):  # 2 + 9: both rings of 5 and 6 have wrapped
        run(lib, layer, x[:, cache.slots : cache.slots + size], cache)
    before = shown(lib, cache)
    for n in (10, 8, 6, 1):
        with pytest.raises(CacheStateError, match=rf"cannot keep {n} of 11 slots: .* left 5 at"):
            cache.crop(n)
    same(shown(lib, cache), before)
    out = run(lib, layer, x[:, 11:], cache)
    np.testing.assert_allclose(out, run(lib, layer, x)[:, 11:], atol=1e-11)


@kinds
def test_a_step_that_fails_has_never_happened(lib, rng, kind):
    layer, x = layer_of(lib, kind), rng.standard_normal((1, SEQ, 8))
    cache = layer.new_cache(1, SEQ)
    run(lib, layer, x[:, :7], cache)
    before = shown(lib, cache)

    def broken(*_):
        raise RuntimeError("in the middle")

    made, layer._finish = layer._finish, broken
    with pytest.raises(RuntimeError, match="in the middle"):
        run(lib, layer, x[:, 7:13], cache)
    same(shown(lib, cache), before)
    layer._finish = made
    out = run(lib, layer, x[:, 7:], cache)
    np.testing.assert_allclose(out, run(lib, layer, x)[:, 7:], atol=1e-11)


# ---- What is refused ----


@pytest.mark.parametrize(
    ("held", "positions"),
    [
        (0, [0, 1, 3]),  # a gap
        (0, [1, 2, 3]),  # which begins
        (0, [0, -1, 1]),  # padding between tokens
        (0, [0, 1, -1]),  # behind them
        (4, [-1, 4, 5]),  # before those to come
        (4, [5, 6, 7]),
    ],
)
def test_positions_that_do_not_count_are_refused(lib, rng, held, positions):
    layer, x = layer_of(lib), rng.standard_normal((1, 7, 8))
    cache = layer.new_cache(1, 9)
    if held:
        run(lib, layer, x[:, :held], cache)
    before, told = shown(lib, cache), r"must be -1 \(padding\) and then count 0, 1, 2, …, got"
    with pytest.raises(ConfigError, match=told):
        run(lib, layer, x[:, :3], cache, np.array(positions))
    same(shown(lib, cache), before)
    if not held:
        with pytest.raises(ConfigError, match=told):
            run(lib, layer, x[:, :3], None, np.array(positions))


def test_caches_of_others_are_refused(lib):
    layer, x = layer_of(lib), lib.array(np.zeros((1, 2, 8)))
    kind = {"dtype": "float64"}
    plain = lib.KVCache(1, 1, 6, 8, **kind)
    with pytest.raises(ShapeError, match="the cache has window = none, the layer gives window = 5"):
        layer(x, cache=plain)
    for other in (layer_of(lib, "hca"), layer_of(lib, compress=2), layer_of(lib, window=4)):
        with pytest.raises(ShapeError, match="the cache has"):
            layer(x, cache=other.new_cache(1, 8))
    one_head = lib.GroupedQueryAttention(AttentionConfig(8, 2, 6, n_kv_heads=1), dtype="float64")
    with pytest.raises(ConfigError, match="the cache holds entries of several tokens"):
        one_head(x, cache=layer.new_cache(1, 8))
    with pytest.raises(DTypeError, match="the cache holds"):
        layer(x, cache=layer_of(lib, dtype="float32").new_cache(1, 8))


def test_an_append_says_what_does_not_fit(lib):
    cache = lib.CompressedCache(1, 4, 8, window=3, compress=2, dtype="float64")
    rows, wide = (lib.array(np.ones((1, n, 2, 4))) for n in (1, 2))
    with pytest.raises(ShapeError, match=r"gates must be \(batch, series, q_len, dim\)"):
        cache.append(rows, rows, wide)
    with pytest.raises(ConfigError, match="index_values is for an indexer, and the cache has none"):
        cache.append(rows, rows, rows, rows, rows)
    with pytest.raises(ConfigError, match="finish must be callable or None"):
        cache.append(rows, rows, rows, finish=3)
    indexed = lib.CompressedCache(1, 4, 8, window=3, compress=2, index_head_dim=4, dtype="float64")
    with pytest.raises((DTypeError, ShapeError), match="index_values"):
        indexed.append(rows, wide, wide)
    assert cache.slots == indexed.slots == 0


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"index_topk": None}, "go together, got index_n_heads = 3"),
        ({"o_groups": 2}, "o_groups and o_lora_rank go together"),
        ({"o_groups": 3, "o_lora_rank": 2}, "o_groups = 3 must divide n_heads = 4"),
        ({"compress": 0}, "compress"),
        ({"window": None}, "window"),
        ({"rope": RopeConfig("half", scaling=DynamicNTK(2.0, 16))}, "DynamicNTK has no meaning"),
        ({"rope": RopeConfig("half", scaling=YaRN(2.0, 16, mscale_all_dim=1.0))}, "mscale_all_dim"),
        ({"rope": RopeConfig("half", rotary_dim=8)}, "rotary_dim = 8"),
        ({"rope": RopeConfig("half", rotary_dim=6), "index_head_dim": 5}, "must be even"),
    ],
)
def test_a_configuration_says_what_does_not_go_together(options, error):
    with pytest.raises(ConfigError, match=error):
        config_of(**options)


def test_the_compiled_step_is_refused():
    config = DecoderConfig(13, 1, config_of(), d_ff=6, max_positions=9)
    model = mini_attn.torch.Decoder(config)
    caches, token = model.new_caches(1, 4), torch.tensor([[1]])
    with pytest.raises(ConfigError, match="a compiled step"):
        mini_attn.torch.compile_decode_step()(model, token, caches)


# ---- What it is ----


def test_without_a_finish_entries_are_the_gated_means(lib, rng):
    """By hand: the second span's entry is of its own tokens, and of the first by other numbers."""
    sizes = {"window": 3, "compress": 2, "index_head_dim": 2, "dtype": "float64"}
    cache = lib.CompressedCache(1, 4, 9, **sizes)
    k = rng.standard_normal((1, 1, 7, 4))
    said = [rng.standard_normal((1, 2, 7, width)) for width in (4, 4, 2, 2)]
    for some in (slice(0, 1), slice(1, 4), slice(4, 7)):
        rows = [lib.array(a[:, :, some]) for a in (k, *said)]
        view = cache.append(*rows)
    _, entries, index_entries, *_ = (lib.numpy(array) for array in view)
    for found, values, gates in ((entries, *said[:2]), (index_entries, *said[2:])):
        assert found.shape[2] == 3
        for span in range(3):
            own, before = slice(2 * span, 2 * span + 2), slice(max(2 * span - 2, 0), 2 * span)
            logits = np.concatenate([gates[0, 0, before], gates[0, 1, own]])
            numbers = np.concatenate([values[0, 0, before], values[0, 1, own]])
            shares = np.exp(logits) / np.exp(logits).sum(axis=0)
            expected = (shares * numbers).sum(axis=0)
            np.testing.assert_allclose(found[0, 0, span], expected, atol=1e-12)


@pytest.mark.parametrize("held", [1, 2, 5, 6, 7, 8, 11, 13])
@pytest.mark.parametrize("kind", ["hca", "csa"])
def test_a_lone_token_meets_as_many_as_the_costs_say(lib, rng, monkeypatch, kind, held):
    layer, x, met = layer_of(lib, kind), rng.standard_normal((2, SEQ, 8)), []
    module = getattr(mini_attn, lib.name).layers.compressed
    name = "attend" if hasattr(module, "attend") else "attend_in_full"
    own = getattr(module, name)

    def counted(q, k, *rest, **more):
        met.append(k.shape[2])
        return own(q, k, *rest, **more)

    monkeypatch.setattr(module, name, counted)
    cache = layer.new_cache(2, SEQ)
    run(lib, layer, x[:, :held], cache)
    run(lib, layer, x[:, held : held + 1], cache)
    sizes = {"window": 5, "compress": 3, "index_topk": layer.config.index_topk}
    pairs = cost.entry_pairs(1, held + 1, **sizes)
    assert met[1] == pairs["window"] + pairs["entries"]


def test_of_equal_entries_the_earlier_is_read(lib, rng):
    """An indexer without weights scores all alike: the first two entries are read, no others."""
    layer, x = layer_of(lib, window=1), rng.standard_normal((1, SEQ, 8))
    state = {key: np.array(lib.numpy(w)) for key, w in layer.state_dict().items()}
    state["compressor.indexer.scorer.weights_proj.weight"][:] = 0
    layer.load_state_dict(state)
    first = run(lib, layer, x)
    other = x.copy()
    other[:, 9:-1] += 1.0  # beyond the first two spans, and the next, which reads them too
    np.testing.assert_array_equal(run(lib, layer, other)[:, -1], first[:, -1])
    cache = layer.new_cache(1, SEQ)
    np.testing.assert_allclose(in_steps(lib, layer, x, cache, [5, 1, 1, 12]), first, atol=1e-11)


def test_gradients_reach_all_but_the_choice(backends):
    layer = layer_of(backends[1])
    x = torch.randn(1, SEQ, 8, dtype=torch.float64, requires_grad=True)
    layer(x).square().sum().backward()
    with_none = {key for key, w in layer.named_parameters() if w.grad is None}
    assert with_none == {
        key for key, _ in layer.named_parameters() if key.startswith("compressor.indexer.")
    }
    assert all(
        bool((w.grad != 0).any()) for key, w in layer.named_parameters() if key not in with_none
    )
    cache = layer.new_cache(1, SEQ)
    layer(x, cache=cache)
    assert not any(array.requires_grad for array in cache._state.arrays)


@pytest.mark.parametrize("kind", ["hca", "csa"])
def test_beams_read_the_entries_that_they_continue(lib, kind):
    """Beam search reorders caches: each beam ends as its text does without a cache."""
    config = DecoderConfig(13, 2, config_of(kind), d_ff=6, max_positions=30, positions="none")
    model = lib.Decoder(config, seed=4, dtype="float64")
    rng = np.random.default_rng(8)
    model.load_state_dict(
        {key: rng.standard_normal(tuple(w.shape)) for key, w in model.state_dict().items()}
    )
    prompt = lib.array(np.array([[3, 1, 4, 1, 5, 9, 2]]))
    words, scores = lib.beam_search(model, prompt, n_beams=3, max_new_tokens=9)[:2]
    for row, score in zip(lib.numpy(words)[0], lib.numpy(scores)[0], strict=True):
        logits = lib.numpy(model(lib.array(row[None])))[0]
        shares = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        own = shares[np.arange(6, 15), row[7:16]].sum()
        np.testing.assert_allclose(score, own, atol=1e-8)


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_decoder_of_both_kinds_and_a_window(lib, wrapped):
    """As DeepSeek-V4 alternates them; a wrapped layer is met from outside, its cache too."""
    window = AttentionConfig(8, 2, 4, n_kv_heads=1, window=4, rope=RopeConfig("half"))
    layers = (config_of("hca"), config_of("csa, grouped"), window)
    config = DecoderConfig(13, 3, layers, d_ff=6, max_positions=30, positions="none")
    model = lib.Decoder(config, seed=4, dtype="float64")
    if wrapped:
        for layer in model.layers:
            wrap(lib, layer.self_attn)
    rng = np.random.default_rng(8)
    tokens = lib.array(rng.integers(0, 13, (2, SEQ)))
    expected, caches = lib.numpy(model(tokens)), model.new_caches(2, SEQ)
    parts = [model(tokens[:, :7], caches=caches)]
    parts += [model(tokens[:, i : i + 1], caches=caches) for i in range(7, SEQ)]
    out = np.concatenate([lib.numpy(part) for part in parts], axis=1)
    np.testing.assert_allclose(out, expected, atol=1e-11)


def wrap(lib, layer):
    """Let a layer be called as one that is not this package's."""
    if lib.name == "torch":
        layer.register_forward_hook(lambda *_: None)
        return
    kind = type(layer)
    layer.__class__ = type(
        "Own", (kind,), {"__call__": lambda self, *a, **b: kind.__call__(self, *a, **b)}
    )


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_narrow_types_stay_near(lib, rng, dtype):
    layer, x = layer_of(lib), rng.standard_normal((2, SEQ, 8))
    narrow = layer_of(lib, dtype=dtype)
    exact = layer.state_dict()
    narrow.load_state_dict({key: lib.numpy(w) for key, w in exact.items()})
    out = lib.numpy(narrow(lib.array(x.astype(dtype))))
    assert out.dtype == dtype
    hidden = run(lib, layer, x)
    # The choice may differ where scores are close; most rows are near.
    near = np.abs(out - hidden).max(axis=2) < (0.2 if dtype == "float16" else 1e-3)
    assert near.mean() > 0.7
