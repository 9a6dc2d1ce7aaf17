"""What decoding and online attention allocate and touch: counted, not timed.

Allocations are PyTorch's own records, which see into its fused kernels, and those of Python's
tracer, to which NumPy reports its arrays.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import mini_attn.numpy as ma
import mini_attn.torch as mt
from benchmarks.allocations import numpy_peak, torch_allocations, torch_peak
from mini_attn.config import AttentionConfig, DecoderConfig, LatentConfig, RopeConfig
from tests.conftest import Backend

BOTH = {name: Backend(name) for name in ("numpy", "torch")}
HEADS, KV_HEADS, HEAD_DIM = 8, 2, 64
SMALL = 100_000  # bytes: Python's own objects, tables and scratch memory of kernels


def peak(lib, run):
    """Most bytes held at once, in the backend's own count."""
    if lib.name == "numpy":
        return numpy_peak(run)
    with torch.inference_mode():
        return torch_peak(run)


def ones(lib, *shape):
    return lib.array(np.ones(shape, np.float32))


def heads(lib, q_len, kv_len):
    """Queries, keys and values with grouped heads."""
    sizes = ((HEADS, q_len), (KV_HEADS, kv_len), (KV_HEADS, kv_len))
    return [ones(lib, 1, n, seq, HEAD_DIM) for n, seq in sizes]


# 32768 keys exceed what the processor's caches hold, where PyTorch's side takes another path.
@pytest.mark.parametrize("kv_len", [2048, 32768])
@pytest.mark.parametrize("options", ["plain", "window", "positions"])
def test_a_decode_step_repeats_no_key_and_keeps_a_few_rows_of_scores(lib, kv_len, options):
    q, k, v = heads(lib, 1, kv_len)
    given = {
        "plain": {},
        "window": {"causal": True, "window": 100},
        "positions": {"causal": True, "kv_positions": lib.array(np.arange(kv_len) - 3).clip(-1)},
    }[options]
    held = peak(lib, lambda: lib.scaled_dot_product_attention(q, k, v, **given))
    row = HEADS * kv_len * 4  # bytes of one query's scores in all heads
    assert held < 5 * row + SMALL
    assert held < k.nbytes  # half of what one copy of keys and values takes, a sixth of a repeat


def test_the_count_sees_a_repeat(lib):
    """The same step with repeated keys is caught."""
    q, k, v = heads(lib, 1, 2048)
    repeat = np.repeat if lib.name == "numpy" else torch.repeat_interleave

    def repeated():
        return lib.scaled_dot_product_attention(
            q, *(repeat(a, HEADS // KV_HEADS, 1) for a in (k, v))
        )

    assert peak(lib, repeated) >= 2 * HEADS // KV_HEADS * k.nbytes


def test_prefill_in_torch_repeats_no_key_and_keeps_no_score_matrix():
    for options in ({"causal": True}, {"causal": True, "window": 100}, {}):
        q, k, v = (torch.ones(1, n, 1024, HEAD_DIM) for n in (HEADS, KV_HEADS, KV_HEADS))
        with torch.inference_mode():
            taken = torch_allocations(
                lambda q=q, k=k, v=v, o=options: mt.scaled_dot_product_attention(q, k, v, **o)
            )
        mask = KV_HEADS * 1024 * 1024 * 4  # as numbers, where the kernel needs one
        assert max(taken) <= (mask if "window" in options else q.nbytes)


@pytest.mark.parametrize("options", [{"causal": True}, {"causal": True, "window": 100}, {}])
def test_online_attention_keeps_no_score_matrix(lib, options):
    seq = 1024
    q, k, v = heads(lib, seq, seq)
    matrix = HEADS * seq * seq * 4
    held = peak(lib, lambda: lib.online_attention(q, k, v, block_q=64, block_k=64, **options))
    assert held < matrix / 4
    blocks = HEADS * 64 * 64 * 4
    assert held < 3 * q.nbytes + 8 * blocks + SMALL


def test_memory_of_online_attention_grows_with_the_length_not_with_its_square(lib):
    held = {}
    for seq in (512, 2048):
        q, k, v = heads(lib, seq, seq)
        held[seq] = peak(lib, lambda q=q, k=k, v=v: lib.online_attention(q, k, v, causal=True))
    assert held[2048] < 5 * held[512]


def test_the_count_sees_a_score_matrix(lib):
    """Attention that returns its weights has to hold them all."""
    q, k, v = heads(lib, 512, 512)
    held = peak(lib, lambda: lib.scaled_dot_product_attention(q, k, v, return_weights=True))
    assert held >= HEADS * 512 * 512 * 4


ATTENTIONS = {
    "mha": AttentionConfig(64, 4, 16),
    "gqa": AttentionConfig(64, 8, 32, n_kv_heads=2, rope=RopeConfig("half"), qk_norm=True),
    "mqa": AttentionConfig(64, 8, 64, n_kv_heads=1, rope=RopeConfig("interleaved")),
    "sliding_window": AttentionConfig(64, 8, 32, n_kv_heads=2, window=1024),
    "alibi": AttentionConfig(64, 8, 32, n_kv_heads=2, alibi=True),
    "mla": LatentConfig(64, 4, 128, 16, 8, 16, rope=RopeConfig("interleaved")),
}


def layer_and_cache(lib, config, length, room=4):
    """A layer of this configuration and its cache with so many tokens in it."""
    model = lib.Decoder(DecoderConfig(7, 1, config, 16, max_positions=8192, positions="none"))
    (cache,) = model.new_caches(1, length + room)
    if isinstance(config, LatentConfig):
        shapes = [(1, length, cache.kv_lora_rank), (1, length, cache.qk_rope_head_dim)]
    else:
        shapes = [(1, cache.n_kv_heads, length, cache.head_dim)] * 2
    with torch.inference_mode():
        cache.append(*(ones(lib, *shape) for shape in shapes))
    return model.layers[0].self_attn, cache


@pytest.mark.parametrize("name", ATTENTIONS)
def test_a_layer_decodes_without_copying_its_cache(lib, name):
    config = ATTENTIONS[name]
    layer, cache = layer_and_cache(lib, config, 4096)
    x = ones(lib, 1, 1, 64)
    slots = cache.slots

    def step():
        cache.crop(slots)
        layer(x, cache=cache)

    held = peak(lib, step)
    tokens = min(4096, getattr(config, "window", None) or 4096)
    row = config.n_heads * tokens * 4  # scores, weights, a bias, what is between them
    assert held < 7 * row + SMALL
    assert held < 0.6 * cache.used_bytes + SMALL


class Traffic(TorchDispatchMode):
    """Counts operations, and the bytes of their operands and results; views are free."""

    def __init__(self):
        super().__init__()
        self.operations, self.moved = [], 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if not func.is_view:
            self.operations.append(str(func))
            tensors = [t for t in tree_leaves((args, kwargs, out)) if isinstance(t, torch.Tensor)]
            self.moved += sum(t.numel() * t.element_size() for t in tensors)
        return out


def decoder_with(lib, config, length):
    """A small decoder and caches with so many tokens in them."""
    model = lib.Decoder(config)
    caches = model.new_caches(1, 4100)
    rng = np.random.default_rng(0)
    tokens = lib.array(rng.integers(0, config.vocab_size, (1, length)))
    lib.prefill(model, tokens, caches)
    return model, caches


FLAT = {
    "mha, learned": DecoderConfig(
        97, 2, AttentionConfig(32, 4, 8, bias=True), 128, max_positions=4100
    ),
    "gqa, rope": DecoderConfig(
        97, 2, AttentionConfig(32, 4, 8, n_kv_heads=2, rope=RopeConfig("half")), 64,
        max_positions=4100, mlp="gated", activation="silu", norm="rms_norm", positions="none",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FLAT)
def test_a_token_costs_the_same_after_64_and_after_4096_but_for_reading_the_cache(name):
    """In PyTorch: the same operations, and exactly the cache's growth more bytes are touched."""
    counts = {}
    for length in (64, 4096):
        model, caches = decoder_with(BOTH["torch"], FLAT[name], length)
        token = torch.tensor([[3]])
        with torch.inference_mode(), Traffic() as count:
            mt.decode_step(model, token, caches)
        counts[length] = count
        used = sum(cache.used_bytes for cache in caches)
        counts[length].rest = count.moved - used
    assert counts[64].operations == counts[4096].operations
    assert counts[4096].moved > 2 * counts[64].moved  # the cache's part is there, and counted
    assert counts[64].rest == counts[4096].rest


@pytest.mark.parametrize("name", FLAT)
def test_a_token_in_numpy_makes_the_same_calls_and_arrays_after_64_and_after_4096(name):
    config = FLAT[name]
    held, calls = {}, {}
    for length in (64, 4096):
        model, caches = decoder_with(BOTH["numpy"], config, length)
        token = np.array([[3]])

        def step(model=model, caches=caches, token=token, length=length):
            for cache in caches:
                cache.crop(length)
            ma.decode_step(model, token, caches)

        held[length] = numpy_peak(step)
        calls[length] = called(step)
    assert calls[64] == calls[4096]
    scores = config.attention.n_heads * (4096 - 64) * 4
    assert held[4096] - held[64] < 5 * scores + SMALL


def called(run):
    """How often each function is called, NumPy's own included."""
    names: dict[str, int] = {}

    def note(frame, event, argument):
        if event in ("call", "c_call"):
            name = frame.f_code.co_name if event == "call" else argument.__name__
            names[name] = names.get(name, 0) + 1

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return names
