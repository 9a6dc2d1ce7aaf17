"""Fewer keys, beside code that nobody here wrote: flex_attention, torch's pooling, HF's indexer."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from mini_attn.config import IndexedConfig, RopeConfig
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
@pytest.mark.parametrize("block", [(16, 16), (32, 16)])
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
