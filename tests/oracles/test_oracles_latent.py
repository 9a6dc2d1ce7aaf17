"""Latent attention against Hugging Face's classes for DeepSeek-V2 and V3, weights by name.

Where the two classes differ, from each other and from the papers:

- V2 turns pairs as complex numbers and leaves them where they are: ``layout="interleaved"``. V3
  turns the same pairs but puts all first numbers before all second ones. Queries and keys are
  reordered alike, so that scores agree; what lies in the cache does not. With
  ``rope_interleave=False`` V3 pairs halves: ``layout="half"``.
- Both compute angles and norms in float32 even for float64 inputs, V2 also the rotation. Hence the
  tolerances here, which grow with the position.
- Both give YaRN's temperature as DeepSeek's own code does: the rotated parts get
  ``m(mscale) / m(mscale_all_dim)`` (1 in the released models), and all scores get
  ``m(mscale_all_dim) ** 2``, with ``m(s) = 0.1 s ln(factor) + 1``. YaRN's paper multiplies rotated
  queries and keys by ``m(1)``, which here would leave the scores of the part without a position
  as they were. DeepSeek-V2's paper has 0.0707 in place of 0.1, that is ``mscale_all_dim = 0.707``.
- Without ``mscale_all_dim`` the scores get no factor, and the rotated parts get ``m(1)``.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import DeepseekV2Config, DeepseekV3Config, DynamicCache
from transformers.models.deepseek_v2 import modeling_deepseek_v2 as v2
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as v3

import mini_attn.numpy as ma
import mini_attn.torch as mt
from mini_attn.config import LatentConfig, RopeConfig, YaRN

D_MODEL, HEADS = 24, 3
SIZES = {"kv_lora_rank": 10, "qk_nope_head_dim": 6, "qk_rope_head_dim": 8, "v_head_dim": 5}
CONTEXT = {"factor": 8.0, "original_max_position_embeddings": 16}
YARNS = {
    "none": {},
    "released": {**CONTEXT, "mscale": 0.707, "mscale_all_dim": 0.707},
    "unlike": {**CONTEXT, "mscale": 0.6, "mscale_all_dim": 1.4},
    "without": dict(CONTEXT),
    "own ramp": {**CONTEXT, "mscale": 1.0, "mscale_all_dim": 1.0, "beta_fast": 4, "beta_slow": 2},
}


def theirs_of(kind, *, q_rank=None, bias=False, yarn="none", **options):
    """Hugging Face's layer and its rotary embedding, with weights of size 1, in float64."""
    config_class, module = {"v2": (DeepseekV2Config, v2), "v3": (DeepseekV3Config, v3)}[kind]
    rope = {"rope_type": "yarn" if YARNS[yarn] else "default", "rope_theta": 100.0, **YARNS[yarn]}
    config = config_class(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        q_lora_rank=q_rank,
        attention_bias=bias,
        max_position_embeddings=128,
        rope_parameters=rope,
        attn_implementation="eager",
        **SIZES,
        **options,
    )
    torch.manual_seed(1)
    name = f"Deepseek{kind.upper()}"
    layer = getattr(module, f"{name}Attention")(config, layer_idx=0).double().eval()
    with torch.no_grad():
        for weight in layer.parameters():
            torch.nn.init.normal_(weight)
    return layer, getattr(module, f"{name}RotaryEmbedding")(config)


def ours_of(module, theirs, *, q_rank=None, bias=False, yarn="none", layout="interleaved"):
    """Our layer with their weights, name by name."""
    words = dict(YARNS[yarn])
    scaling = None
    if words:
        words["original_max_positions"] = words.pop("original_max_position_embeddings")
        scaling = YaRN(**words)
    rope = RopeConfig(layout, theta=100.0, scaling=scaling)
    config = LatentConfig(D_MODEL, HEADS, rope=rope, q_lora_rank=q_rank, bias=bias, **SIZES)
    layer = module.MultiHeadLatentAttention(config, dtype="float64")
    layer.load_state_dict({name: w.detach().numpy() for name, w in theirs.state_dict().items()})
    return layer


def run_theirs(layer, rotary, x, start=0, cache=None):
    """Their output for tokens that follow ``start`` others."""
    q_len = x.shape[1]
    positions = torch.arange(start, start + q_len)[None].expand(len(x), -1)
    seen = torch.ones(q_len, start + q_len, dtype=torch.bool).tril(start)
    mask = torch.zeros(seen.shape, dtype=x.dtype).masked_fill(~seen, -torch.inf)[None, None]
    with torch.no_grad():
        return layer(
            hidden_states=x,
            position_embeddings=rotary(x, positions),
            attention_mask=mask,
            past_key_values=cache,
        )[0].numpy()


def run_ours(layer, x, **options):
    torch_layer = isinstance(layer, torch.nn.Module)
    with torch.no_grad():
        out = layer(x if torch_layer else x.numpy(), **options)
    return out.numpy() if torch_layer else out


def tokens(seq=30):
    return torch.randn(2, seq, D_MODEL, generator=torch.Generator().manual_seed(2)).double()


def agree(ours, theirs, share=2e-5):
    np.testing.assert_allclose(ours, theirs, atol=share * np.abs(theirs).max())


@pytest.mark.parametrize("kind", ["v2", "v3"])
@pytest.mark.parametrize("yarn", YARNS)
@pytest.mark.parametrize(("q_rank", "bias"), [(None, False), (7, True)])
def test_the_layer_is_deepseeks(kind, yarn, q_rank, bias):
    options = {"q_rank": q_rank, "bias": bias, "yarn": yarn}
    layer, rotary = theirs_of(kind, **options)
    x = tokens()
    expected = run_theirs(layer, rotary, x)
    for module in (ma, mt):
        ours = ours_of(module, layer, **options)
        for form in ("expanded", "absorbed"):
            agree(run_ours(ours, x, form=form), expected)


def test_v3_without_interleaving_pairs_halves():
    layer, rotary = theirs_of("v3", rope_interleave=False)
    expected = run_theirs(layer, rotary, tokens())
    for module in (ma, mt):
        agree(run_ours(ours_of(module, layer, layout="half"), tokens()), expected)
        wrong = run_ours(ours_of(module, layer, layout="interleaved"), tokens())
        np.testing.assert_allclose(wrong[:, 0], expected[:, 0], rtol=1e-5)  # position 0 never tells
        assert np.abs(wrong - expected).max() > 0.1 * np.abs(expected).max()


@pytest.mark.parametrize("kind", ["v2", "v3"])
def test_a_temperature_left_out_would_show(kind):
    """All but the first token change by much if the scores lack ``m(mscale_all_dim) ** 2``."""
    layer, rotary = theirs_of(kind, yarn="released")
    expected = run_theirs(layer, rotary, tokens())
    ours = ours_of(mt, layer, yarn="released")
    agree(run_ours(ours, tokens()), expected)
    ours._scale = ours.config.head_dim**-0.5
    wrong = run_ours(ours, tokens())
    np.testing.assert_allclose(wrong[:, 0], expected[:, 0], rtol=1e-5)
    assert np.abs(wrong - expected).max() > 0.02 * np.abs(expected).max()


@pytest.mark.parametrize("kind", ["v2", "v3"])
@pytest.mark.parametrize("forms", [("expanded",), ("absorbed",), (None, "expanded", "absorbed")])
def test_with_a_cache_too(kind, forms):
    layer, rotary = theirs_of(kind, q_rank=7, yarn="unlike")
    x, chunks = tokens(), [9, 1, 1, 4, 1, 14]
    ours = {module: ours_of(module, layer, q_rank=7, yarn="unlike") for module in (ma, mt)}
    caches = {module: ours[module].new_cache(2, 30) for module in ours}
    cache, start = DynamicCache(), 0
    for number, chunk in enumerate(chunks):
        part = x[:, start : start + chunk]
        expected = run_theirs(layer, rotary, part, start, cache)
        for module in ours:
            form = forms[number % len(forms)]
            agree(run_ours(ours[module], part, cache=caches[module], form=form), expected)
        start += chunk
    # What is cached is theirs as well: the normed latent, and one rotated key for all heads.
    latent, rope_key = (
        a.squeeze(1).numpy() for a in (cache.layers[0].keys, cache.layers[0].values)
    )
    if kind == "v3":  # first numbers of all pairs, then second ones
        rope_key = rope_key.reshape(2, 30, 2, 4).swapaxes(2, 3).reshape(2, 30, 8)
    for module in ours:
        held = [np.asarray(a) for a in caches[module].view()]
        agree(held[0], latent)
        agree(held[1], rope_key)


@pytest.mark.parametrize("kind", ["v2", "v3"])
def test_gradients_are_theirs(kind):
    layer, rotary = theirs_of(kind, q_rank=7, yarn="released")
    ours = ours_of(mt, layer, q_rank=7, yarn="released")
    x = tokens(12)
    mask = torch.full((12, 12), -torch.inf, dtype=x.dtype).triu(1)[None, None]
    place = rotary(x, torch.arange(12)[None])
    layer(hidden_states=x, position_embeddings=place, attention_mask=mask)[
        0
    ].square().sum().backward()
    expected = {name: w.grad for name, w in layer.named_parameters()}
    for form in ("expanded", "absorbed"):
        ours.zero_grad()
        ours(x, form=form).square().sum().backward()
        found = {name: w.grad for name, w in ours.named_parameters()}
        assert found.keys() == expected.keys()
        for name, gradient in found.items():
            agree(gradient.numpy(), expected[name].numpy(), share=1e-4)
