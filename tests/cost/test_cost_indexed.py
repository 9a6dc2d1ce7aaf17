"""What choosing keys costs: by hand, against the published sizes, and at its edges."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mini_attn import cost
from mini_attn.errors import ConfigError
from mini_attn.models import MODELS
from tests.backends.small import small

V3 = MODELS["deepseek-v3"]  # V3.2's heads and latent are V3's
INDEXER = {"index_n_heads": 64, "index_head_dim": 128}
TOPK = 2048


def pair_flops(form):
    """FLOPs of one pair of a token and a key, in all heads of one layer."""
    met = {
        "expanded": V3.head_dim + V3.v_head_dim,
        "absorbed": sum(cost.LatentCost().dims_per_pair(V3)),
    }
    return 2 * V3.n_heads * met[form]


def test_a_pair_of_the_indexer_is_cheap_beside_latent_attention():
    each = cost.indexer_flops(**INDEXER)
    assert each == 2 * 64 * 128 + 2 * 64
    assert round(pair_flops("absorbed") / each) == 17
    assert round(pair_flops("expanded") / each) == 5


def test_a_step_at_128_thousand_tokens():
    """13.4 times fewer FLOPs by the products of queries and keys; 13.3 with the sum over heads."""
    context, full = 2**17, 2**17 * pair_flops("absorbed")
    chosen = TOPK * pair_flops("absorbed")
    products = context * 2 * 64 * 128
    assert round(full / (products + chosen), 1) == 13.4
    whole = cost.indexer_flops(**INDEXER, pairs=context) + chosen
    assert round(full / whole, 1) == 13.3


def test_the_index_keys_beside_a_latent():
    """A key of 128 numbers in 8 bits with a scale of 4 bytes, as DeepSeek keeps it."""
    index_key = 128 + 4
    latent = cost.cache_bytes_per_token(V3, dtype_bytes=2) // V3.n_layers
    assert latent == 2 * (512 + 64)
    assert round(100 * index_key / latent, 1) == 11.5
    in_8_bits = 512 + 4 * 4 + 2 * 64  # four scales, and the rotated key in 16 bits
    assert round(100 * index_key / in_8_bits) == 20


def test_what_chosen_blocks_read():
    """NSA at 65,536 tokens: compressed keys, 16 blocks of 64, a window of 512 (published sizes)."""
    sizes = {"span": 32, "stride": 16, "block_size": 64, "n_blocks": 16, "window": 512}
    read = cost.block_reads(65_536, **sizes)
    assert read == 5631
    assert round(65_536 / read, 1) == 11.6
    for context in (1, 31, 32, 47, 48, 600, 5000):  # spans and blocks, counted one by one
        spans = sum(begin + 32 <= context for begin in range(0, context, 16))
        assert cost.block_reads(context, **sizes) == spans + min(context, 1024) + min(context, 512)
    for name in sizes:
        with pytest.raises(ConfigError, match=name):
            cost.block_reads(9, **(sizes | {name: 0}))


MODEL = small("indexed", index_n_heads=3, index_head_dim=4, index_topk=5)


@pytest.mark.parametrize(("q_len", "kv_len"), [(1, 3), (1, 5), (1, 6), (1, 50), (4, 4), (4, 9)])
def test_pairs_and_reads_are_counted_one_by_one(q_len, kv_len):
    visible = [kv_len - q_len + i + 1 for i in range(q_len)]
    attended = sum(min(seen, 5) for seen in visible)
    exact = cost.matmul_flops(MODEL, q_len=q_len, kv_len=kv_len, causal="exact")
    assert exact["scores"] == MODEL.n_layers * 2 * 6 * 4 * attended
    assert exact["weighted sum"] == MODEL.n_layers * 2 * 6 * 5 * attended
    scanned = sum(visible) if kv_len > 5 else 0
    assert exact["indexer"] == MODEL.n_layers * scanned * 2 * 3 * 5
    softmax = cost.elementwise_ops(MODEL, q_len=q_len, kv_len=kv_len, causal="exact")["softmax"]
    assert softmax == MODEL.n_layers * 6 * 5 * attended
    heads = 2 * (4 + 5)
    read = kv_len * heads if kv_len <= 5 else (5 if q_len == 1 else kv_len) * heads + kv_len * 4
    moved = cost.step_bytes(MODEL, q_len=q_len, kv_len=kv_len, dtype_bytes=1)
    assert moved["cache read"] == MODEL.n_layers * read
    assert moved["cache written"] == MODEL.n_layers * q_len * (heads + 4)


def test_a_step_puts_the_choice_with_the_attention():
    flops, _ = cost.step_operations(MODEL, kv_len=50)["attention"]
    parts = cost.matmul_flops(MODEL, q_len=1, kv_len=50, causal="exact")
    assert flops == parts["indexer"] + parts["scores"] + parts["weighted sum"]


def test_one_layer_hands_on_the_indexers_queries():
    handed = cost.activation_bytes(MODEL, q_len=1, kv_len=50, dtype_bytes=1)
    plain = cost.activation_bytes(
        replace(MODEL, attention="gqa"), q_len=1, kv_len=50, dtype_bytes=1
    )
    for part in ("projections", "attention"):
        assert handed[part] - plain[part] == MODEL.n_layers * 3 * 5


def test_sizes_that_are_missing_are_named():
    for name in ("index_n_heads", "index_head_dim", "index_topk"):
        with pytest.raises(ConfigError, match=f"indexed needs .*{name}.* above 0"):
            replace(MODEL, **{name: 0})
    for wrong in ({"index_n_heads": 0}, {"index_head_dim": 0}, {"pairs": 0}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            cost.indexer_flops(**(INDEXER | wrong))
