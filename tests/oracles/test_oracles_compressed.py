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
from transformers import DynamicCache, modeling_rope_utils
from transformers.models.deepseek_v4 import modeling_deepseek_v4 as v4

from mini_attn import plain
from mini_attn.config import YaRN
from mini_attn.errors import ConfigError
from mini_attn.plain.compressed import compressed_attention
from mini_attn.weights import compressed_from_hf, config_from_hf

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
    kind, groups = ("csa", "hca")[seed % 2], pick(1, 2, 3)
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
        "index_topk": (1, 2, 3, 50)[seed // 2 % 4],
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


def ours_of(lib, theirs):
    """Our layer with their weights."""
    layer = lib.CompressedAttention(compressed_from_hf(theirs[2].to_dict(), 0), dtype="float64")
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
    layer, x = ours_of(lib, theirs), x.numpy()
    agree(lib.numpy(layer(lib.array(x))), expected)
    for chunks in CHUNKS:
        agree(ours_run(lib, layer, x, chunks), expected)


# ---- A whole checkpoint: the layers that can be read, one by one ----

RAW = {
    "model_type": "deepseek_v4", "hidden_size": 12, "num_attention_heads": 4, "head_dim": 10,
    "q_lora_rank": 6, "o_groups": 2, "o_lora_rank": 3, "sliding_window": 4, "index_n_heads": 9,
    "index_head_dim": 6, "index_topk": 2, "num_hidden_layers": 5, "vocab_size": 19,
    "moe_intermediate_size": 8, "n_routed_experts": 4, "num_experts_per_tok": 2,
    "qk_rope_head_dim": 4, "compress_rope_theta": 100.0, "max_position_embeddings": 256,
    "hc_mult": 2, "num_hash_layers": 1,
}  # fmt: skip
YARN = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "beta_fast": 8}
DESCRIBED = {
    "by its usual order": {},
    "by rates": {"compress_ratios": [0, 128, 4, 4, 0], "rope_scaling": YARN},
    "by words": {
        "layer_types": [KINDS["csa"][0], KINDS["hca"][0], "sliding_attention"] * 2,
        "compress_rates": {KINDS["csa"][0]: 3, KINDS["hca"][0]: 5},
    },
    "older": {"compress_rate_csa": 2, "compress_rate_hca": 6, "partial_rotary_factor": 0.2},
}
STATE = "model.layers.{}.self_attn."


@pytest.mark.parametrize("name", DESCRIBED)
def test_the_layers_of_a_checkpoint(lib, name, monkeypatch):
    """What a layer is given in their model, ours is given too: with their weights, by name."""
    raw = RAW | DESCRIBED[name]
    with exact():
        monkeypatch.setattr(modeling_rope_utils, "torch", _Wide())
        eager = {"attn_implementation": "eager", "experts_implementation": "eager"}
        config = v4.DeepseekV4Config(**raw, **eager)
        torch.manual_seed(2)
        model = v4.DeepseekV4ForCausalLM(config).double().eval()
        with torch.no_grad():
            for weight in model.parameters():
                torch.nn.init.normal_(weight)
        given = {}
        for i, layer in enumerate(model.model.layers):

            def keep(_, args, out, i=i):
                given[i] = args[0], out[0]

            layer.self_attn.register_forward_hook(keep)
        with torch.no_grad():
            model(torch.randint(0, 19, (2, SEQ)), use_cache=False)
    state, read = model.state_dict(), []
    for i, (x, expected) in given.items():
        if config.layer_types[i] == "sliding_attention":
            with pytest.raises(ConfigError, match=f"layer {i} is 'sliding_attention': it has a"):
                compressed_from_hf(raw, i)
            continue
        described = compressed_from_hf(raw, i)
        assert described == compressed_from_hf(config.to_dict(), i)  # as their class writes it
        layer = lib.CompressedAttention(described, dtype="float64")
        own = {k.removeprefix(STATE.format(i)): v for k, v in state.items() if STATE.format(i) in k}
        layer.load_state_dict({k: lib.array(v.numpy()) for k, v in own.items()})
        x, expected = x.detach().numpy(), expected.detach().numpy()
        agree(lib.numpy(layer(lib.array(x))), expected)
        agree(ours_run(lib, layer, x, CHUNKS[1]), expected)
        read.append(described)
    assert len(read) >= 3
    if "rope_scaling" in raw:
        assert isinstance(read[0].rope.scaling, YaRN)


@pytest.mark.parametrize(
    ("change", "layer", "told"),
    [
        ({"model_type": "deepseek_v3"}, 0, "model_type must be deepseek_v4, got 'deepseek_v3'"),
        ({}, 5, "layer must lie in 0 … 4, got 5"),
        ({"num_key_value_heads": 2}, 0, "all heads read one key, got num_key_value_heads = 2"),
        ({"compress_ratios": [7] * 5}, 0, "compress_ratios has 7"),
        ({"layer_types": ["sliding_attention"]}, 0, "layer_types must list 5 layers or more"),
        ({"o_groups": None}, 0, "has no 'o_groups'"),
        ({"rope_scaling": {"type": "dynamic", "factor": 2.0}}, 0, "DynamicNTK has no meaning"),
    ],
)
def test_a_description_says_what_is_wrong(change, layer, told):
    with pytest.raises(ConfigError, match=told):
        compressed_from_hf(RAW | change, layer)


def test_the_decoder_is_refused_by_what_it_lacks():
    with pytest.raises(ConfigError, match="needs hyper-connections, and experts that a table"):
        config_from_hf(RAW)
