"""An indexer's choice: by loops, what is skipped, what its cache refuses, and a way round it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import mini_attn.torch
from mini_attn.config import AttentionConfig, DecoderConfig, IndexedConfig, KeepRecent, RopeConfig
from mini_attn.errors import ConfigError, DTypeError, MiniAttnError, ShapeError

SIZES = {"d_model": 8, "n_heads": 4, "head_dim": 4, "n_kv_heads": 2}
INDEX = {"index_n_heads": 2, "index_head_dim": 4, "index_topk": 3}


def layer_of(lib, **options):
    layer = lib.IndexedAttention(IndexedConfig(**(SIZES | INDEX | options)), dtype="float64")
    rng = np.random.default_rng(5)
    layer.load_state_dict(
        {key: rng.standard_normal(tuple(w.shape)) for key, w in layer.state_dict().items()}
    )
    return layer


def run(lib, layer, x, **options):
    options = {k: lib.array(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    return lib.numpy(layer(lib.array(x), **options))


def test_scores_are_sums_of_single_products(lib, rng):
    q, k = rng.standard_normal((2, 3, 4, 5)), rng.standard_normal((2, 6, 5))
    head_weights = rng.standard_normal((2, 4, 3))
    out = lib.numpy(lib.index_scores(*(lib.array(a) for a in (q, k, head_weights))))
    for b, i, j in np.ndindex(2, 4, 6):
        parts = [head_weights[b, i, h] * max(0.0, q[b, h, i] @ k[b, j]) for h in range(3)]
        assert out[b, i, j] == pytest.approx(sum(parts) / 15**0.5, abs=1e-12)


def test_of_equal_scores_the_earlier_key_is_chosen(lib):
    rows = [[0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 2.0, 2.0], [-np.inf, 0.0, -np.inf, -np.inf]]
    rows += [[0.0, np.nan, 5.0, 1.0], [-0.0, 0.0, -1.0, 0.0]]
    chosen = lib.numpy(lib.chosen_keys(lib.array(np.array(rows)), 2)).astype(int).tolist()
    assert chosen == [[1, 1, 0, 0], [0, 1, 1, 0], [1, 1, 0, 0], [0, 1, 1, 0], [1, 1, 0, 0]]
    assert lib.numpy(lib.chosen_keys(lib.array(np.ones((2, 3))), 9)).all()


def test_all_heads_read_the_keys_with_the_largest_scores(lib, rng):
    """The layer is attention under a mask that the indexer's own scores make."""
    layer, x = layer_of(lib, rope=RopeConfig("half")), rng.standard_normal((2, 9, 8))
    index_q, index_k, head_weights = layer.indexer(lib.array(x))
    cos, sin = lib.rope_table(lib.array(np.arange(9)), lib.rope_frequencies(4, theta=1e4)[0],
                              dtype="float64")  # fmt: skip
    turned = [lib.apply_rope(a, cos, sin, layout="half") for a in (index_q, index_k[:, None])]
    scores = lib.numpy(lib.index_scores(turned[0], turned[1][:, 0], head_weights))
    mask = np.zeros((2, 9, 9), bool)
    for b, i in np.ndindex(2, 9):
        order = sorted(range(i + 1), key=lambda j, row=scores[b, i]: (-row[j], j))
        mask[b, i, order[:3]] = True
    grouped = lib.GroupedQueryAttention(
        AttentionConfig(**SIZES, rope=RopeConfig("half")), dtype="float64"
    )
    state = layer.state_dict()
    grouped.load_state_dict({key: state[key] for key in grouped.state_dict()})
    expected = run(lib, grouped, x, mask=mask)
    np.testing.assert_allclose(run(lib, layer, x), expected, atol=1e-12)
    assert (mask.sum(axis=-1) == np.minimum(np.arange(9) + 1, 3)).all()


def test_what_is_not_chosen_is_not_computed(rng):
    """In a step attention meets index_topk keys, whatever the length: torch's counted FLOPs."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    layer = mini_attn.torch.IndexedAttention(IndexedConfig(**SIZES, **INDEX))
    counted = []
    for held in (8, 16, 32):
        cache = layer.new_cache(1, held + 1)
        with torch.no_grad():
            layer(torch.ones(1, held, 8), cache=cache)
            with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
                layer(torch.ones(1, 1, 8), cache=cache)
        counted.append(counter.get_total_flops() - 2 * 2 * 5 * (held + 1))  # less the indexer's
    assert len(set(counted)) == 1


@pytest.mark.parametrize("steps", [[9], [1] * 9, [4, 1, 3, 1]], ids=str)
@pytest.mark.parametrize("heads", [1, 4])
def test_a_mask_hides_before_the_choice(lib, rng, steps, heads):
    """A hidden key takes no place among the chosen, in a chunk and in a step."""
    layer, x = layer_of(lib), rng.standard_normal((2, 9, 8))
    mask = rng.random((2, heads, 9, 9)) < 0.6
    if heads == 4:
        mask[:] = mask[:, :1]
    cache, start, parts = layer.new_cache(2, 9), 0, []
    for new in steps:
        end = start + new
        own = mask[:, :, start:end, :end]
        parts.append(run(lib, layer, x[:, start:end], cache=cache, mask=own))
        start = end
    np.testing.assert_allclose(np.concatenate(parts, axis=1), run(lib, layer, x, mask=mask),
                               atol=1e-12)  # fmt: skip
    none = run(lib, layer, x, mask=np.zeros((9, 9), bool))
    assert (none == 0).all()


def test_its_cache_is_taken_back_forked_and_reordered(lib, rng):
    layer, x = layer_of(lib), rng.standard_normal((2, 9, 8))
    cache = layer.new_cache(2, 9)
    run(lib, layer, x[:, :6], cache=cache)
    twin = cache.fork()
    expected = run(lib, layer, x[:, 6:], cache=cache)
    cache.crop(6)
    np.testing.assert_array_equal(run(lib, layer, x[:, 6:], cache=cache), expected)
    twin.reorder(lib.array(np.array([1, 0])))
    turned = run(lib, layer, x[[1, 0], 6:], cache=twin)
    np.testing.assert_allclose(turned, expected[[1, 0]], atol=1e-12)


def test_caches_that_do_not_fit_are_refused(lib, rng):
    layer, x = layer_of(lib), rng.standard_normal((1, 2, 8))
    grouped = lib.GroupedQueryAttention(AttentionConfig(**SIZES), dtype="float64")
    kind = {"dtype": "float64"}
    for owner, cache, words in (
        (layer, grouped.new_cache(1, 4), "index_head_dim = none"),
        (layer, lib.EvictingCache(1, 2, 4, budget=3, policy=KeepRecent(), **kind),
         "index_head_dim = none"),
        (layer, lib.IndexedCache(1, 2, 4, 4, index_head_dim=5, **kind), "index_head_dim = 5"),
        (grouped, layer.new_cache(1, 4), "the layer has no indexer"),
    ):  # fmt: skip
        with pytest.raises(MiniAttnError, match=words):
            run(lib, owner, x, cache=cache)
        assert cache.slots == 0


def test_a_compiled_step_refuses_a_cache_without_index_keys():
    config = DecoderConfig(7, 1, IndexedConfig(**SIZES, **INDEX), d_ff=3, max_positions=9)
    model = mini_attn.torch.Decoder(config)
    step = mini_attn.torch.compile_decode_step(backend="eager")
    wrong = [mini_attn.torch.KVCache(1, 2, 4, capacity=5)]
    with pytest.raises(ShapeError, match="index_head_dim = none"):
        step(model, torch.tensor([[1]]), wrong)
    with pytest.raises(ConfigError, match="got IndexedCache"):
        step(model, torch.tensor([[1]]), model.new_caches(1, 5))


def test_an_append_is_checked(lib):
    cache = lib.IndexedCache(1, 2, 4, 4, index_head_dim=3, dtype="float64")
    k, index_k = lib.array(np.ones((1, 2, 2, 4))), lib.array(np.ones((1, 2, 3)))
    for wrong, error, words in (
        (index_k[:, :1], ShapeError, r"= \(1, 2, 3\), got \(1, 1, 3\)"),
        (index_k[0], ShapeError, "index_k"),
        (lib.array(np.ones((1, 2, 3), np.float32)), DTypeError, "index_k is"),
    ):
        with pytest.raises(error, match=words):
            cache.append(k, k, wrong)
    assert cache.slots == 0
    arrays = cache.append(k, k, index_k)
    assert [tuple(a.shape) for a in arrays] == [(1, 2, 2, 4), (1, 2, 2, 4), (1, 2, 3), (1, 2)]
    assert cache.used_bytes == 8 * 2 * (2 * 8 + 3)


def test_bad_sizes_are_refused(lib):
    for wrong, words in (
        ({"index_topk": 0}, "index_topk"),
        ({"index_n_heads": 0}, "index_n_heads"),
        ({"index_head_dim": 0}, "index_head_dim"),
        ({"index_head_dim": 3, "rope": RopeConfig("half")}, "index_head_dim must be even, got 3"),
    ):
        with pytest.raises(ConfigError, match=words):
            IndexedConfig(**(SIZES | INDEX | wrong))
    with pytest.raises(ConfigError, match="must be an IndexedConfig"):
        lib.IndexedAttention(AttentionConfig(**SIZES))
    with pytest.raises(ConfigError, match="count"):
        lib.chosen_keys(lib.array(np.ones(3)), 0)
    with pytest.raises(DTypeError, match="scores"):
        lib.chosen_keys(lib.array(np.ones(3, int)), 1)
    q, k, w = (lib.array(np.ones(s)) for s in ((1, 2, 3, 4), (1, 5, 4), (1, 3, 2)))
    with pytest.raises(ShapeError, match="index_head_dim"):
        lib.index_scores(q, k[..., :3], w)
    with pytest.raises(DTypeError, match="one dtype"):
        lib.index_scores(q, k, lib.array(np.ones((1, 3, 2), np.float32)))


def test_gradients_reach_what_is_read_and_not_the_choice():
    layer = mini_attn.torch.IndexedAttention(IndexedConfig(**SIZES, **INDEX))
    x = torch.randn(1, 7, 8, generator=torch.Generator().manual_seed(1))
    layer(x).square().sum().backward()
    assert all(w.grad is None for w in layer.indexer.parameters())
    assert all(w.grad.abs().sum() > 0 for w in (layer.q_proj.weight, layer.k_proj.weight))
