"""What entries that stand for several tokens cost: by loops, and against the real layers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import mini_attn.numpy as ma
import mini_attn.torch as mt
from mini_attn import cost
from mini_attn.errors import ConfigError
from mini_attn.variants import REGISTRY, CacheField
from tests.backends.small import decoder_of, small

ONE_KEY = {"n_kv_heads": 1, "head_dim": 4, "v_head_dim": 4, "window": 5, "compress": 3}
INDEXER = {"index_n_heads": 2, "index_head_dim": 7, "index_topk": 2}
MODELS = {
    "hca": small("hca", **ONE_KEY),
    "csa": small("csa", **ONE_KEY | INDEXER),
    "csa, grouped": small("csa", **ONE_KEY | INDEXER, q_lora_rank=9, o_groups=3, o_lora_rank=8),
}
models = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


@pytest.mark.parametrize("topk", [None, 1, 2, 50])
@pytest.mark.parametrize("compress", [1, 3, 8])
def test_pairs_by_loops(compress, topk):
    sizes = {"window": 4, "compress": compress, "index_topk": topk}
    for kv_len in (1, 2, 8, 13):
        for q_len in {1, 2, kv_len} & {*range(1, kv_len + 1)}:
            tokens = range(kv_len - q_len + 1, kv_len + 1)
            many = kv_len // compress
            chooses = topk is not None and many > topk
            expected = {
                "window": sum(min(t, 4) for t in tokens),
                "entries": sum(min(t // compress, topk or t) for t in tokens),
                "scored": sum(t // compress for t in tokens) * chooses,
            }
            assert cost.entry_pairs(q_len, kv_len, **sizes) == expected
            full = cost.entry_pairs(q_len, kv_len, **sizes, causal="full")
            if q_len == 1:
                assert full == expected
            else:
                keys = min(kv_len, 4 + q_len - 1)
                every = {"window": q_len * keys, "entries": q_len * many}
                assert full == every | {"scored": q_len * many * chooses}


@pytest.mark.parametrize(
    ("change", "told"),
    [({"window": 0}, "window"), ({"compress": 0}, "compress"), ({"index_topk": 0}, "index_topk"),
     ({"causal": "half"}, "causal"), ({"kv_len": 1, "q_len": 2}, "q_len = 2")],
)  # fmt: skip
def test_pairs_that_are_refused(change, told):
    sizes = {"q_len": 1, "kv_len": 9, "window": 4, "compress": 2, "index_topk": 1} | change
    with pytest.raises(ConfigError, match=told):
        cost.entry_pairs(sizes.pop("q_len"), sizes.pop("kv_len"), **sizes)


@models
def test_parameters_and_products_are_the_decoders(model):
    """As torch counts them, chunk by chunk, while both rings fill and wrap."""
    decoder = decoder_of(mt, model)
    assert cost.parameter_count(model) == sum(w.numel() for w in decoder.parameters())
    sinks = replace(model, sinks=True)
    assert cost.parameter_count(sinks) == sum(w.numel() for w in decoder_of(mt, sinks).parameters())
    caches, held = decoder.new_caches(2, 40), 0
    for new in (7, 1, 1, 5, 1, 9, 1):
        held += new
        with (
            torch.no_grad(),
            sdpa_kernel(SDPBackend.MATH),
            FlopCounterMode(display=False) as counter,
        ):
            decoder(torch.ones(2, new, dtype=torch.int64), caches=caches)
        parts = cost.matmul_flops(model, q_len=new, kv_len=held, batch=2, logit_rows=new)
        assert counter.get_total_flops() == sum(parts.values()), (new, held)


@models
@pytest.mark.parametrize("context", [1, 2, 5, 6, 17, 40])
def test_bytes_and_their_formula_are_the_caches(model, context):
    caches = decoder_of(ma, model).new_caches(2, context)
    total = cost.cache_bytes(model, batch=2, context=context, dtype_bytes=4)
    assert total == sum(cache.allocated_bytes for cache in caches)
    terms = cost.cache_formula(model, batch=2, context=context, dtype_bytes=4)
    assert sum(int(np.prod([factor.value for factor in term])) for term in terms) == total
    labels = {factor.label for term in terms for factor in term}
    assert {"last tokens", "complete blocks"} <= labels


@models
def test_a_long_text_adds_entries_alone(model):
    per = model.head_dim + model.index_head_dim
    assert cost.cache_bytes_per_token(model, dtype_bytes=2) == 2 * model.n_layers * per // 3
    long, longer = (cost.cache_bytes(model, batch=1, context=n) for n in (3000, 6000))
    assert longer - long == 2 * model.n_layers * per * 1000
    for storage in (cost.Paged(4), cost.Evicting(4), cost.Quantized(4)):
        with pytest.raises(ConfigError, match="writes over keys and waiting values and"):
            cost.cache_bytes(model, batch=1, context=100, storage=storage)


@models
def test_what_a_step_moves(model):
    """A lone token reads its window, the entries that it may, and an indexer's of all."""
    index, topk = model.index_head_dim, model.index_topk
    said = 2 * (2 if topk else 1) * (4 + index)
    for kv_len in (1, 5, 8, 9, 40):
        entries = kv_len // 3
        scored = entries if topk and entries > topk else 0
        keys = min(kv_len, 5) + (topk if scored else entries)
        moved = cost.step_bytes(model, kv_len=kv_len, dtype_bytes=1)
        assert moved["cache read"] == model.n_layers * (4 * keys + index * scored + said)
        closes = kv_len % 3 == 0
        new = 4 + said + closes * (4 + index)
        assert moved["cache written"] == model.n_layers * new
    chunk = cost.step_bytes(model, q_len=9, kv_len=30, dtype_bytes=1)
    held = 4 * 5 + min(9, 3 * (2 if topk else 1)) * said + 3 * (4 + index)
    assert chunk["cache written"] == model.n_layers * held


def test_a_field_may_be_kept_of_the_last_tokens():
    field = CacheField("waiting", ("head_dim",), last="compress", series=2)
    model = MODELS["csa"]
    assert field.numbers(model) == 8
    assert [field.held(model, n) for n in (0, 2, 6, 7)] == [0, 16, 48, 48]
    assert [field.written(model, 100, n) for n in (1, 6, 7)] == [8, 48, 48]
    assert REGISTRY["csa"].factors == (
        "n_kv_heads", "head_dim", "window", "compress", "index_head_dim",
    )  # fmt: skip


def test_published_sizes_of_one_layer():
    """DeepSeek-V4-Flash's configuration, one layer of each kind, at 2 bytes a number."""
    heads = {"n_layers": 1, "n_kv_heads": 1, "head_dim": 512, "v_head_dim": 512, "window": 128}
    hca = small("hca", **heads, compress=128)
    index = {"index_n_heads": 64, "index_head_dim": 128, "index_topk": 512}
    csa = small("csa", **heads, compress=4, **index)
    assert cost.cache_bytes_per_token(hca) == 2 * 512 // 128
    assert cost.cache_bytes_per_token(csa) == 2 * (512 + 128) // 4
