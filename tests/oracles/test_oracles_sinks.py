"""Learned sinks against Hugging Face's gpt-oss: its attention and its whole layer."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import mini_attn.numpy as ma
import mini_attn.torch as mt
from mini_attn.config import AttentionConfig, RopeConfig

gpt_oss = pytest.importorskip("transformers.models.gpt_oss.modeling_gpt_oss")


def draw(n_kv_heads, q_len, kv_len, v_width=8):
    generator = torch.Generator().manual_seed(q_len + kv_len)
    shapes = ((2, 6, q_len, 8), (2, n_kv_heads, kv_len, 8), (2, n_kv_heads, kv_len, v_width), (6,))
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


@pytest.mark.parametrize("n_kv_heads", [1, 2, 6])
@pytest.mark.parametrize(("q_len", "kv_len"), [(1, 1), (1, 17), (7, 7), (5, 13)])
@pytest.mark.parametrize("who", ["all", "causal", "window", "mask"])
def test_attention_with_sinks(n_kv_heads, q_len, kv_len, who):
    q, k, v, sinks = draw(n_kv_heads, q_len, kv_len, v_width=8 if q_len > 5 else 4)
    seen, options = torch.ones(q_len, kv_len, dtype=torch.bool), {}
    if who == "mask":
        seen = torch.rand(2, 1, q_len, kv_len, generator=torch.Generator().manual_seed(3)) < 0.6
        options["mask"] = seen
    elif who != "all":
        seen, options["causal"] = seen.tril(kv_len - q_len), True  # bottom right
    if who == "window":
        seen, options["window"] = seen.triu(kv_len - q_len - 2), 3
    added = torch.zeros(seen.shape, dtype=torch.float64).masked_fill(~seen, -torch.inf)
    module = SimpleNamespace(num_key_value_groups=6 // n_kv_heads, sinks=sinks, training=False)
    expected, weights = gpt_oss.eager_attention_forward(module, q, k, v, added, scaling=0.3)
    for lib in (mt, ma):
        arrays = [a.numpy() if lib is ma else a for a in (q, k, v, sinks)]
        named = {key: a.numpy() if lib is ma and key == "mask" else a for key, a in options.items()}
        named |= {"sinks": arrays.pop(), "scale": 0.3}
        alone = lib.scaled_dot_product_attention(*arrays, **named)
        out, ours = lib.scaled_dot_product_attention(*arrays, **named, return_weights=True)
        tiled, _ = lib.online_attention(*arrays, **named, block_k=4)
        for found in (alone, out, tiled):
            np.testing.assert_allclose(
                np.asarray(found).swapaxes(1, 2), expected.numpy(), atol=1e-12
            )
        np.testing.assert_allclose(np.asarray(ours), weights.numpy(), atol=1e-12)


def test_gradients():
    q, k, v, sinks = (a.requires_grad_() for a in draw(2, 5, 5))
    causal = torch.zeros(5, 5, dtype=torch.float64)
    causal = causal.masked_fill(torch.ones(5, 5, dtype=torch.bool).triu(1), -torch.inf)
    module = SimpleNamespace(num_key_value_groups=3, sinks=sinks, training=False)
    out, _ = gpt_oss.eager_attention_forward(module, q, k, v, causal, scaling=8**-0.5)
    d_out = torch.randn(out.shape, dtype=torch.float64)
    expected = torch.autograd.grad(out, (q, k, v, sinks), d_out)
    given = [a.detach() for a in (d_out.transpose(1, 2), q, k, v)]
    for lib in (mt, ma):
        arrays = [a.numpy() if lib is ma else a for a in given]
        last = sinks.detach().numpy() if lib is ma else sinks.detach()
        found = lib.attention_backward(*arrays, causal=True, sinks=last)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.asarray(one), other.numpy(), atol=1e-12)


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("chunks", [[9], [4, 1, 4], [1] * 9], ids=str)
def test_a_whole_layer(window, chunks):
    """With its own names of weights, through both backends and their caches."""
    from transformers import GptOssConfig

    theirs = gpt_oss.GptOssAttention(
        GptOssConfig(
            hidden_size=12, num_attention_heads=6, num_key_value_heads=2, head_dim=8,
            num_hidden_layers=1, layer_types=["sliding_attention" if window else "full_attention"],
            sliding_window=window, attn_implementation="eager", attention_bias=True,
        ),
        layer_idx=0,
    ).double()  # fmt: skip
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in theirs.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator, dtype=torch.float64))
    x = torch.randn(2, 9, 12, generator=generator, dtype=torch.float64)
    rope = RopeConfig("half")
    inv_freq, _, _ = mt.rope_frequencies(8, theta=rope.theta)
    tables = mt.rope_table(torch.arange(9), inv_freq, dtype="float64")
    seen = torch.ones(9, 9, dtype=torch.bool).tril()
    seen = seen if window is None else seen.triu(1 - window)
    added = torch.zeros(1, 1, 9, 9, dtype=torch.float64).masked_fill(~seen, -torch.inf)
    with torch.no_grad():
        expected, _ = theirs(x, tuple(table[None] for table in tables), added)
    config = AttentionConfig(
        12, 6, 8, n_kv_heads=2, bias=True, window=window, rope=rope, sinks=True
    )
    for lib in (mt, ma):
        layer = lib.GroupedQueryAttention(config, dtype="float64")
        state = {name: w.detach().numpy() for name, w in theirs.state_dict().items()}
        layer.load_state_dict(state)
        cache, parts = layer.new_cache(2, 9), []
        for part in torch.split(x, chunks, dim=1):
            out = layer(part if lib is mt else part.numpy(), cache=cache)
            parts.append(out.detach().numpy() if lib is mt else out)
        np.testing.assert_allclose(np.concatenate(parts, 1), expected.numpy(), atol=1e-10)
