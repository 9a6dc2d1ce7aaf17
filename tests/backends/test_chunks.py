"""Chunks of the text that a layer reads one at a time, and queries that grow with the position."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from mini_attn import plain
from mini_attn.config import (
    AttentionConfig,
    DecoderConfig,
    IndexedConfig,
    NativeSparseConfig,
    QueryGrowth,
    RopeConfig,
)
from mini_attn.errors import ConfigError
from mini_attn.plain import chunks, later

ROPE = RopeConfig("half")
GROWTH = QueryGrowth(0.8, 3, offset=1)
WINDOW = AttentionConfig(6, 4, 4, n_kv_heads=2, window=4)
SIZES = {"d_model": 6, "n_heads": 4, "head_dim": 4, "n_kv_heads": 2}
CONFIGS = {
    "chunks": AttentionConfig(**SIZES, rope=ROPE, window=4, chunked=True),
    "one token a chunk": AttentionConfig(**SIZES, window=1, chunked=True),
    "growth": AttentionConfig(**SIZES, query_growth=GROWTH),
    "both": AttentionConfig(**SIZES, rope=ROPE, window=3, chunked=True, query_growth=GROWTH),
    "growth from 0, with sinks": AttentionConfig(
        **SIZES, sinks=True, query_growth=QueryGrowth(2.0, 4)
    ),
}


def layer_of(lib, config, dtype="float64"):
    layer = lib.GroupedQueryAttention(config, dtype=dtype)
    rng = np.random.default_rng(4)
    state = {k: rng.standard_normal(tuple(w.shape)) for k, w in layer.state_dict().items()}
    layer.load_state_dict(state)
    return layer, state


def in_words(config, state, x, positions):
    """The layer by plain code: every query, its factor and its chunk."""
    q, k, v = (
        plain.split_heads(x @ state[f"{name}_proj.weight"].T, heads)
        for name, heads in (("q", config.n_heads), ("k", 2), ("v", 2))
    )
    if config.rope:
        q, k = (plain.rope(part, positions, "half") for part in (q, k))
    if growth := config.query_growth:
        q = chunks.grow(q, positions, growth.weight, growth.every, growth.offset)
    see = partial(chunks.visible_in_chunk, size=config.window) if config.chunked else plain.visible
    mask = see(positions, positions)
    if config.sinks:
        out = later.attention_with_sinks(q, k, v, mask, 4**-0.5, state["sinks"])
    else:
        out = plain.attention(q, k, v, mask, 4**-0.5)
    return plain.merge_heads(out) @ state["o_proj.weight"].T


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("start", [0, 2, 7])
def test_the_layer_is_its_formula(lib, rng, name, start):
    config = CONFIGS[name]
    layer, state = layer_of(lib, config)
    x, positions = rng.standard_normal((2, 11, 6)), np.arange(start, start + 11)
    found = layer(lib.array(x), positions=lib.array(positions))
    np.testing.assert_allclose(lib.numpy(found), in_words(config, state, x, positions), atol=1e-12)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("kind", ["own", "whole", "paged"])
@pytest.mark.parametrize("parts", [(11,), (1,) * 11, (3, 5, 1, 2), (6, 1, 1, 3)])
def test_a_cache_gives_what_the_whole_text_gives(lib, rng, name, kind, parts):
    config = CONFIGS[name]
    layer, _ = layer_of(lib, config)
    x = rng.standard_normal((2, 11, 6))
    sizes = {"n_kv_heads": 2, "head_dim": 4, "dtype": "float64"}
    if kind == "own":
        cache = layer.new_cache(2, 11)
    elif kind == "whole":
        cache = lib.KVCache(2, capacity=11, **sizes)
    else:
        cache = lib.PagedKVCache(lib.BlockPool(8, block_size=4, **sizes), batch=2)
    ends = np.cumsum(parts)
    found = [
        lib.numpy(layer(lib.array(x[:, end - size : end]), cache=cache))
        for size, end in zip(parts, ends, strict=True)
    ]
    expected = lib.numpy(layer(lib.array(x)))
    np.testing.assert_allclose(np.concatenate(found, axis=1), expected, atol=1e-12)


@pytest.mark.parametrize("name", CONFIGS)
def test_padding_on_the_left_moves_nothing(lib, rng, name):
    """Rows of their own length in one batch: chunks and growth follow positions, not slots."""
    layer, _ = layer_of(lib, CONFIGS[name])
    x, lengths = rng.standard_normal((2, 9, 6)), (9, 5)
    positions = np.stack([np.arange(9) - (9 - n) for n in lengths])
    positions = np.where(positions < 0, -1, positions)
    cache = layer.new_cache(2, 12)
    found = lib.numpy(layer(lib.array(x), positions=lib.array(positions), cache=cache))
    step = rng.standard_normal((2, 1, 6))
    after = lib.numpy(layer(lib.array(step), cache=cache))
    for row, length in enumerate(lengths):
        alone = np.concatenate([x[row : row + 1, 9 - length :], step[row : row + 1]], axis=1)
        expected = lib.numpy(layer(lib.array(alone)))[0]
        np.testing.assert_allclose(found[row, 9 - length :], expected[:-1], atol=1e-12)
        np.testing.assert_allclose(after[row], expected[-1:], atol=1e-12)


def test_a_mask_hides_within_the_chunk_too(lib, rng):
    layer, _ = layer_of(lib, CONFIGS["chunks"])
    x, mask = rng.standard_normal((1, 8, 6)), np.ones((8, 8), bool)
    mask[6, 5] = False
    free, hidden = (lib.numpy(layer(lib.array(x), mask=m)) for m in (None, lib.array(mask)))
    differs = np.abs(free - hidden).max(axis=(0, 2)) > 1e-9
    assert differs.tolist() == [row == 6 for row in range(8)]
    changed = x.copy()
    changed[:, :4] += 1  # another chunk
    np.testing.assert_array_equal(lib.numpy(layer(lib.array(changed)))[:, 4:], free[:, 4:])


@pytest.mark.parametrize("name", CONFIGS)
def test_half_precision_is_the_wide_layer_rounded(lib, rng, name):
    x = rng.standard_normal((1, 9, 6)).astype("float16")
    small, wide = (layer_of(lib, CONFIGS[name], dtype)[0] for dtype in ("float16", "float64"))
    wide.load_state_dict({k: lib.numpy(w).astype("float64") for k, w in small.state_dict().items()})
    found = lib.numpy(small(lib.array(x)))
    assert found.dtype == np.float16
    expected = lib.numpy(wide(lib.array(x.astype("float64"))))
    np.testing.assert_allclose(found, expected, atol=0.1, rtol=0.03)


def test_a_decoder_mixes_such_layers_and_keeps_no_more_than_a_chunk(lib):
    layers = (WINDOW, CONFIGS["chunks"], CONFIGS["growth"], CONFIGS["both"])
    config = DecoderConfig(13, 4, layers, d_ff=5, max_positions=9, positions="none")
    model = lib.Decoder(config, dtype="float64")
    caches = model.new_caches(1, 30)
    kinds = [type(cache).__name__ for cache in caches]
    assert kinds == ["SlidingWindowCache"] * 2 + ["KVCache", "SlidingWindowCache"]
    assert [caches[layer].window for layer in (0, 1, 3)] == [4, 4, 3]
    tokens = lib.array(np.arange(20)[None] % 13)
    parts = [model(tokens[:, :7], caches=caches)]
    parts += [model(tokens[:, at : at + 1], caches=caches) for at in range(7, 20)]
    found = np.concatenate([lib.numpy(part) for part in parts], axis=1)
    whole = lib.numpy(model(tokens))
    np.testing.assert_allclose(found, whole, atol=1e-12)
    x = model._embed_tokens(tokens)
    for layer in model.layers:  # each by itself shares nothing with the one before
        x = layer(x)
    np.testing.assert_allclose(whole, lib.numpy(model._logits(x)), atol=1e-12)


def test_the_score_of_llama_4_at_its_published_numbers(lib):
    """8191 tokens are left alone; the 8192nd and all up to 16383 have 1 + 0.1 log 2."""
    growth = QueryGrowth(0.1, 8192, offset=1)
    config = AttentionConfig(4, 1, 4, query_growth=growth)
    plain_layer, state = layer_of(lib, AttentionConfig(4, 1, 4))
    layer = lib.GroupedQueryAttention(config, dtype="float64")
    layer.load_state_dict(state)
    x = np.random.default_rng(1).standard_normal((1, 3, 4))
    for first, factor in ((8188, 1.0), (8191, 1 + 0.1 * np.log(2)), (16383, 1 + 0.1 * np.log(3))):
        positions = lib.array(np.arange(first, first + 3))
        plain_layer.load_state_dict(state | {"q_proj.weight": factor * state["q_proj.weight"]})
        expected = lib.numpy(plain_layer(lib.array(x), positions=positions))
        found = lib.numpy(layer(lib.array(x), positions=positions))
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"chunked": True}, "chunked needs a window, .* got window = None and sink_tokens = 0"),
        (
            {"chunked": True, "window": 4, "sink_tokens": 1},
            "and no sink_tokens, .* sink_tokens = 1",
        ),
        ({"chunked": 1, "window": 4}, "chunked must be True or False"),
        ({"query_growth": 0.1}, "query_growth must be a QueryGrowth or None, got 0.1"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(ConfigError, match=words):
        AttentionConfig(**SIZES, **options)


def test_layers_that_choose_among_all_keys_have_neither():
    indexed = {"index_n_heads": 2, "index_head_dim": 4, "index_topk": 4}
    sparse = {"block_size": 4, "n_blocks": 2, "window": 4}
    for options in ({"window": 4, "chunked": True}, {"query_growth": GROWTH}):
        with pytest.raises(ConfigError, match=f"{list(options)[-1]} has no meaning"):
            IndexedConfig(**SIZES, **indexed, **options)
        with pytest.raises(ConfigError, match=f"{list(options)[-1]} has no meaning"):
            NativeSparseConfig(**SIZES, **(sparse | options))
