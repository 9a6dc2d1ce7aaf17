"""Entries that stand for several tokens against Hugging Face's DeepSeek-V4, layer by layer.

Their layers work in float32 inside (norms, rotations, gates), even on float64 inputs. `exact`
lets them work in float64, so that both sides can be compared to the last digits. Everything else
is theirs: weights, masks, caches.

Of equal index scores theirs takes any entry, ours the earlier. Equal are those that no head sees,
all zero: with many heads there are none among the chosen.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
import torch
from transformers import DynamicCache
from transformers.models.deepseek_v4 import modeling_deepseek_v4 as v4

from mini_attn import plain
from mini_attn.config import CompressedConfig, RopeConfig
from mini_attn.plain.compressed import compressed_attention

SEQ = 23
KINDS = {
    "csa": ("compressed_sparse_attention", v4.DeepseekV4CSACompressor),
    "hca": ("heavily_compressed_attention", v4.DeepseekV4HCACompressor),
}


class _Wide:
    """The module torch, in which float32 is float64."""

    float = float32 = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


@contextmanager
def exact():
    """Let DeepSeek-V4's layers be made, and work, in float64."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(v4, "torch", _Wide())
        patch.setattr(torch.Tensor, "float", torch.Tensor.double)
        yield


def drawn(seed):
    """A random configuration by their names; sizes are all small, and unlike where they may be."""
    rng = np.random.default_rng(seed)
    pick = lambda *values: values[rng.integers(len(values))]  # noqa: E731
    kind, groups = pick("csa", "hca"), pick(1, 2, 3)
    rotary, ratio = pick(2, 4, 6), pick(1, 2, 3, 4, 5)
    return {
        "kind": kind,
        "hidden_size": pick(6, 11, 16),
        "num_attention_heads": groups * pick(1, 2, 4),
        "head_dim": rotary + pick(2, 6),
        "q_lora_rank": pick(3, 5, 8),
        "qk_rope_head_dim": rotary,
        "o_groups": groups,
        "o_lora_rank": pick(2, 5),
        "sliding_window": pick(2, 3, 8),
        "compress_rates": dict.fromkeys((name for name, _ in KINDS.values()), ratio),
        "compress_rope_theta": pick(100.0, 160000.0),
        "rms_norm_eps": pick(1e-6, 1e-2),
        "index_n_heads": 12,
        "index_head_dim": rotary + pick(1, 4) * 2,
        "index_topk": pick(1, 2, 3, 50),
    }


def theirs_of(sizes):
    """Hugging Face's layer in float64, with weights of size 1."""
    sizes = dict(sizes)
    name = KINDS[sizes.pop("kind")][0]
    config = v4.DeepseekV4Config(
        num_hidden_layers=1, layer_types=[name], attn_implementation="eager", **sizes,
    )  # fmt: skip
    torch.manual_seed(1)
    layer = v4.DeepseekV4Attention(config, layer_idx=0).double().eval()
    rotary = v4.DeepseekV4RotaryEmbedding(config)
    with torch.no_grad():
        for weight in layer.parameters():
            torch.nn.init.normal_(weight)
    return layer, rotary, config


def tokens(sizes):
    return torch.randn(2, SEQ, sizes["hidden_size"], dtype=torch.float64)


def run_theirs(theirs, x, chunks=None):
    """Their output for tokens, all at once or with their cache in chunks."""
    layer, rotary, config = theirs
    cache = None if chunks is None else DynamicCache(config=config)
    seq, window, start, parts = x.shape[1], config.sliding_window, 0, []
    for size in chunks or [seq]:
        at = torch.arange(start, start + size)
        # With a cache the layer sees what the ring held, and the chunk.
        keys = torch.arange(max(0, start - window + 1), start + size)
        near = (keys <= at[:, None]) & (keys > at[:, None] - window)
        mask = torch.zeros(near.shape, dtype=x.dtype).masked_fill(~near, -torch.inf)
        places = at[None].expand(len(x), -1)
        new = x[:, start : start + size]
        with torch.no_grad():
            tables = {"compress": rotary(new, places, layer_type="compress")}
            out, _ = layer(new, tables, places, mask.expand(len(x), 1, -1, -1), cache)
        parts.append(out)
        start += size
    return torch.cat(parts, dim=1).numpy()


# ---- The plain form ----


def plain_weights(theirs, config, kind):
    """Their weights by the plain form's names."""
    w = {name: weight.detach().numpy() for name, weight in theirs.state_dict().items()}
    groups = config.o_groups
    o_a = w["o_a_proj.weight"].reshape(groups, config.o_lora_rank, -1).swapaxes(1, 2)
    W = {
        "q_latent": w["q_a_proj.weight"].T, "q_norm": w["q_a_norm.weight"],
        "q": w["q_b_proj.weight"].T, "kv": w["kv_proj.weight"].T, "kv_norm": w["kv_norm.weight"],
        "o_groups": o_a, "o": w["o_b_proj.weight"].T, "sinks": w["sinks"],
    }  # fmt: skip
    parts = {"entries": "compressor."}
    if kind == "csa":
        parts["index"] = "compressor.indexer."
    for name, own in parts.items():
        W[name] = {
            "values": w[f"{own}kv_proj.weight"].T, "gates": w[f"{own}gate_proj.weight"].T,
            "bias": w[f"{own}position_bias"], "norm": w[f"{own}kv_norm.weight"],
        }  # fmt: skip
    if kind == "csa":
        W["index"] |= {
            "q": w["compressor.indexer.q_b_proj.weight"].T,
            "heads": w["compressor.indexer.scorer.weights_proj.weight"].T,
        }
    return W


def plain_run(sizes, theirs, x, chunks=None):
    """The plain form's output, all at once or with its cache in chunks."""
    layer, _, config = theirs
    compress, kind = config.compress_rates[KINDS[sizes["kind"]][0]], sizes["kind"]
    attend = partial(
        compressed_attention,
        n_heads=config.num_attention_heads,
        window=config.sliding_window,
        compress=compress,
        index_topk=config.index_topk if kind == "csa" else None,
        rotary_dim=config.qk_rope_head_dim,
        theta=config.compress_rope_theta,
    )
    W, seq, batch = plain_weights(layer, config, kind), x.shape[1], len(x)
    if chunks is None:
        return attend(x, W, np.arange(seq))
    cache = [plain.new_cache(batch, 1, config.sliding_window, config.head_dim, 0)]
    for width in (config.head_dim, config.index_head_dim):
        twice = width * (1 + (kind == "csa"))
        tokens = compress * (1 + (kind == "csa"))
        waiting = plain.new_cache(batch, 1, tokens, twice, twice)
        cache.append((waiting, np.zeros((batch, 1, seq // compress, width))))
    ends = np.cumsum(chunks)
    parts = [
        attend(x[:, end - n : end], W, np.arange(end - n, end), cache)
        for end, n in zip(ends, chunks, strict=True)
    ]
    return np.concatenate(parts, axis=1)


def agree(ours, theirs):
    np.testing.assert_allclose(ours, theirs, atol=1e-13 * np.abs(theirs).max())


# 24 configurations; a sample of them with every test run.
seeds = pytest.mark.parametrize(
    "seed",
    [pytest.param(n, marks=[] if n < 6 else [pytest.mark.exhaustive]) for n in range(24)],
)
CHUNKS = ([1] * SEQ, [5, 1, 1, 7, 1, 1, 1, 6])


@seeds
def test_the_plain_form(seed):
    sizes = drawn(seed) | {"rms_norm_eps": 1e-6}
    with exact():
        theirs = theirs_of(sizes)
        x = tokens(sizes)
        expected = run_theirs(theirs, x)
        for chunks in CHUNKS:
            agree(run_theirs(theirs, x, chunks), expected)  # their cache keeps what is needed
    agree(plain_run(sizes, theirs, x.numpy()), expected)
    for chunks in CHUNKS:
        agree(plain_run(sizes, theirs, x.numpy(), chunks), expected)


def test_the_sample_has_both_kinds():
    assert {drawn(seed)["kind"] for seed in range(6)} == set(KINDS)


# ---- The layers of both backends, weights by name ----


def ours_of(lib, theirs, sizes):
    """Our layer with their weights."""
    config = theirs[2]
    rope = RopeConfig("interleaved", config.compress_rope_theta, config.qk_rope_head_dim)
    names = ("index_n_heads", "index_head_dim", "index_topk") if sizes["kind"] == "csa" else ()
    layer = lib.CompressedAttention(
        CompressedConfig(
            d_model=config.hidden_size,
            n_heads=config.num_attention_heads,
            head_dim=config.head_dim,
            window=config.sliding_window,
            compress=config.compress_rates[KINDS[sizes["kind"]][0]],
            q_lora_rank=config.q_lora_rank,
            o_groups=config.o_groups,
            o_lora_rank=config.o_lora_rank,
            rope=rope,
            sinks=True,
            eps=config.rms_norm_eps,
            **{name: getattr(config, name) for name in names},
        ),
        dtype="float64",
    )
    state = {name: lib.array(w.detach().numpy()) for name, w in theirs[0].state_dict().items()}
    layer.load_state_dict(state)
    return layer


def ours_run(lib, layer, x, chunks):
    cache, start, parts = layer.new_cache(len(x), SEQ), 0, []
    for size in chunks:
        parts.append(lib.numpy(layer(lib.array(x[:, start : start + size]), cache=cache)))
        start += size
    return np.concatenate(parts, axis=1)


@seeds
def test_the_layer_is_deepseeks(lib, seed):
    sizes = drawn(seed)
    with exact():
        theirs = theirs_of(sizes)
        x = tokens(sizes)
        expected = run_theirs(theirs, x)
    layer, x = ours_of(lib, theirs, sizes), x.numpy()
    agree(lib.numpy(layer(lib.array(x))), expected)
    for chunks in CHUNKS:
        agree(ours_run(lib, layer, x, chunks), expected)
