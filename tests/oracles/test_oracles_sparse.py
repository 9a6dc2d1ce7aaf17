"""Fewer keys, beside code that nobody here wrote: flex_attention, torch's pooling, HF's indexer."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from mini_attn.config import IndexedConfig, NativeSparseConfig, RopeConfig
from mini_attn.numpy import rope_frequencies, rope_table

SEQ, STRIDE, WINDOW, FIRST = 96, 16, 8, 3
BUCKETS = np.sort(np.random.default_rng(2).integers(0, 5, SEQ))


def rules(buckets):
    """Patterns as torch asks for them: one query and one key at a time."""
    return {
        "strided": lambda b, h, q, k: (q >= k) & ((q - k) % STRIDE == 0),
        "local or strided": lambda b, h, q, k: (
            (q >= k) & ((q - k < WINDOW) | ((q - k) % STRIDE == 0))
        ),
        "global": lambda b, h, q, k: (q < FIRST) | (k < FIRST),
        "local or global": lambda b, h, q, k: (
            (q >= k) & ((q - k < WINDOW) | (q < FIRST) | (k < FIRST))
        ),
        "bucket": lambda b, h, q, k: buckets[q] == buckets[k],
    }


def ours(lib, name):
    at, buckets = lib.array(np.arange(SEQ)), lib.array(BUCKETS)
    local = lib.visible(at, at, causal=True, window=WINDOW)
    few = lib.global_mask(at, at, FIRST)
    return {
        "strided": lib.strided_mask(at, at, STRIDE),
        "local or strided": local | lib.strided_mask(at, at, STRIDE),
        "global": few,
        "local or global": local | lib.combine_masks(few, lib.visible(at, at, causal=True)),
        "bucket": lib.bucket_mask(buckets, buckets),
    }[name]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", rules(None))
@pytest.mark.parametrize("block", [(32, 16), pytest.param((16, 16), marks=pytest.mark.exhaustive)])
def test_patterns_are_flex_attentions(lib, rng, name, block):
    rule = rules(torch.from_numpy(BUCKETS))[name]
    blocks = create_block_mask(rule, None, None, SEQ, SEQ, device="cpu", BLOCK_SIZE=block)
    q, k, v = (rng.standard_normal((1, 2, SEQ, 16)).astype("float32") for _ in range(3))
    expected = flex_attention(*(torch.from_numpy(a) for a in (q, k, v)), block_mask=blocks)
    mask = ours(lib, name)
    out, _ = lib.online_attention(
        *(lib.array(a) for a in (q, k, v)), mask=mask, block_q=block[0], block_k=block[1]
    )
    np.testing.assert_allclose(lib.numpy(out), expected.numpy(), atol=2e-6)
    partly, whole = blocks.kv_num_blocks.sum(), blocks.full_kv_num_blocks
    seen = int(partly) + (0 if whole is None else int(whole.sum()))
    assert lib.count_blocks(mask, *block) == (seen, SEQ // block[0] * (SEQ // block[1]))


@pytest.mark.parametrize("kernel", [1, 3, 7])
def test_pooling_is_torchs(lib, rng, kernel):
    """SnapKV's code calls these two, with as much padding as keeps the length."""
    weights = rng.random((2, 3, 11))
    rows, side = torch.from_numpy(weights), kernel // 2
    largest = F.max_pool1d(rows, kernel, stride=1, padding=side)
    mean = F.avg_pool1d(rows, kernel, stride=1, padding=side)
    for pooling, expected in (("max", largest), ("mean", mean)):
        out = lib.numpy(lib.pool_weights(lib.array(weights), kernel, pooling))
        np.testing.assert_allclose(out, expected.numpy(), atol=1e-15)


@pytest.mark.parametrize("turned", [4, 8])
def test_the_choice_is_that_of_deepseeks_indexer(lib, rng, turned):
    """Hugging Face's class chooses among the visible keys as ours does, with the same weights.

    With many heads: of equal scores, all zero, it takes any.
    """
    modeling = pytest.importorskip("transformers.models.deepseek_v32.modeling_deepseek_v32")
    config = modeling.DeepseekV32Config(
        hidden_size=12, q_lora_rank=12, index_n_heads=9, index_head_dim=8, index_topk=4,
        qk_rope_head_dim=turned,
    )  # fmt: skip
    torch.manual_seed(3)
    theirs = modeling.DeepseekV32Indexer(config, 0).double()
    sizes = {"index_n_heads": 9, "index_head_dim": 8, "index_topk": 4}
    rope = RopeConfig("half", rotary_dim=turned)
    layer = lib.IndexedAttention(IndexedConfig(12, 2, 8, rope=rope, **sizes), dtype="float64")
    names = {"wq": "wq_b", "wk": "wk", "k_norm": "k_norm", "weights_proj": "weights_proj"}
    state = {key: lib.array(w.detach().numpy()) for key, w in theirs.state_dict().items()}
    layer.indexer.load_state_dict(
        {key: state[f"{names[key.split('.')[0]]}.{key.split('.')[1]}"]
         for key in layer.indexer.state_dict()}
    )  # fmt: skip
    x, seq = rng.standard_normal((2, 11, 12)), 11
    inv_freq, _, _ = rope_frequencies(turned, theta=rope.theta)
    cos, sin = rope_table(np.arange(seq), inv_freq, dtype="float64")
    tables = [torch.from_numpy(np.tile(t, (2, 1, 2))) for t in (cos, sin)]
    causal = torch.ones(seq, seq).tril().bool()[None]
    rows = torch.from_numpy(x)
    places = theirs(rows, rows, tuple(tables), causal, torch.arange(seq)[None])
    expected = torch.zeros(2, seq, seq).scatter(-1, places.long(), 1).bool() & causal
    index_q, index_k, head_weights = layer.indexer(lib.array(x))
    ours = [lib.array(t) for t in (cos, sin)]
    index_q, index_k = (
        lib.apply_rope(a, *ours, layout="half") for a in (index_q, index_k[:, None])
    )
    scores = lib.index_scores(index_q, index_k[:, 0], head_weights)
    hidden = np.where(causal.numpy(), lib.numpy(scores), -np.inf)
    chosen = lib.numpy(lib.chosen_keys(lib.array(hidden), 4)) & causal.numpy()
    np.testing.assert_array_equal(chosen, expected.numpy())
    assert (chosen.sum(axis=-1) == np.minimum(np.arange(seq) + 1, 4)).all()


# ---- Native sparse attention: avg_pool1d's means, topk's choice, SDPA and flex_attention ----

BLOCK, CHOSEN, NEAR = 8, 3, 12
OPENED = {"compressed": (1, 0, 0), "selected": (0, 1, 0), "window": (0, 0, 1)}


def sparse_layer(lib, opened, seed=7):
    """A layer whose tokens begin with 1, so that the first column of the gates decides."""
    sizes = {"block_size": BLOCK, "n_blocks": CHOSEN, "window": NEAR, "n_kv_heads": 2}
    config = NativeSparseConfig(12, 6, 16, rope=RopeConfig("half"), **sizes)
    layer, rng = lib.NativeSparseAttention(config), np.random.default_rng(seed)
    state = {key: rng.standard_normal(tuple(w.shape)) for key, w in layer.state_dict().items()}
    state["gate_proj.weight"][:] = 0
    state["gate_proj.weight"][:, 0] = np.tile(1e4 * (2 * np.array(opened) - 1), 6)
    layer.load_state_dict({key: lib.array(w.astype("float32")) for key, w in state.items()})
    x = rng.standard_normal((2, SEQ - 3, 12)).astype("float32")  # the last block is not full
    x[..., 0] = 1
    return layer, x


def theirs(lib, layer, x):
    """Each branch, by torch alone, from the layer's queries, keys and values."""
    q, k, v = layer.project(lib.array(x), lib.array(x))
    inv_freq, _, _ = rope_frequencies(16, theta=1e4)
    tables = [lib.array(t) for t in rope_table(np.arange(x.shape[1]), inv_freq)]
    q, k = (lib.apply_rope(a, *tables, layout="half") for a in (q, k))
    q, k, v = (torch.from_numpy(np.asarray(lib.numpy(a)).copy()) for a in (q, k, v))
    batch, n_heads, seq, _ = q.shape
    means = [
        F.avg_pool1d(a.transpose(2, 3).flatten(0, 1), BLOCK)
        .unflatten(0, (batch, 2))
        .transpose(2, 3)
        for a in (k, v)
    ]
    at, blocks = torch.arange(seq), torch.arange(seq // BLOCK)
    whole = (blocks + 1) * BLOCK <= at[:, None] + 1  # (q_len, blocks)
    out = F.scaled_dot_product_attention(q, *means, attn_mask=whole, enable_gqa=True)
    out[:, :, : BLOCK - 1] = 0
    scores = q.unflatten(1, (2, 3)) @ means[0][:, :, None].transpose(-1, -2) / 4
    weights = scores.masked_fill(~whole, -torch.inf).softmax(-1).nan_to_num(0)
    worth = F.pad(weights.sum(dim=2), (0, 1))  # the last block too, (batch, 2, q_len, blocks + 1)
    own = at // BLOCK
    worth.scatter_(3, own.expand(batch, 2, seq)[..., None], torch.inf)
    later = torch.arange(worth.shape[3]) > own[:, None]
    order = worth.masked_fill(later, -torch.inf).topk(CHOSEN).indices
    chosen = torch.zeros_like(worth).scatter(3, order, 1).bool()
    picked = lambda b, h, i, j: (i >= j) & chosen[b, h // 3, i, j // BLOCK]  # noqa: E731
    near = lambda b, h, i, j: (i >= j) & (i - j < NEAR)  # noqa: E731
    found = {"compressed": out}
    for name, rule in (("selected", picked), ("window", near)):
        mask = create_block_mask(rule, batch, n_heads, seq, seq, device="cpu")
        found[name] = flex_attention(q, k, v, block_mask=mask, enable_gqa=True)
    last = torch.from_numpy(np.asarray(lib.numpy(layer.o_proj.weight)).copy())
    return means, {name: a.transpose(1, 2).flatten(2) @ last.T for name, a in found.items()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPENED)
@pytest.mark.parametrize("steps", [[SEQ - 3], [30, 1, 40, *[1] * (SEQ - 74)]], ids=["one", "many"])
def test_branches_are_those_of_pooling_topk_and_flex_attention(lib, name, steps):
    layer, x = sparse_layer(lib, OPENED[name])
    means, branches = theirs(lib, layer, x)
    cache, start, parts = layer.new_cache(2, SEQ), 0, []
    for new in steps:
        parts.append(lib.numpy(layer(lib.array(x[:, start : start + new]), cache=cache)))
        start += new
    out = np.concatenate(parts, axis=1)
    np.testing.assert_allclose(out, branches[name].numpy(), rtol=1e-6, atol=1e-4)  # up to 134
    for array, expected in zip(cache.view()[2:4], means, strict=True):
        np.testing.assert_allclose(lib.numpy(array), expected.numpy(), atol=2e-6)
