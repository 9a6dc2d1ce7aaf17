"""Positions against code that nobody here wrote: Hugging Face, x-transformers and others."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from rotary_embedding_torch import RotaryEmbedding
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention
from x_transformers.x_transformers import AlibiPositionalBias, RelativePositionBias
from x_transformers.x_transformers import RotaryEmbedding as XRotary
from x_transformers.x_transformers import apply_rotary_pos_emb as x_apply

from mini_attn.config import (
    DynamicNTK,
    Llama3Scaling,
    LongRoPE,
    PositionInterpolation,
    YaRN,
)

DIM, THETA, CONTEXT = 64, 10000.0, 2048
SHORT, LONG = tuple(1 + i / 32 for i in range(32)), tuple(2.0 + i for i in range(32))
ORIGINAL = {"original_max_position_embeddings": CONTEXT}
RULES = {
    "linear": ({"factor": 4.0}, PositionInterpolation(4.0)),
    "dynamic": ({"factor": 2.0}, DynamicNTK(2.0, CONTEXT)),
    "yarn": ({"factor": 4.0, **ORIGINAL}, YaRN(4.0, CONTEXT)),
    "yarn: betas, no rounding": (
        {"factor": 4.0, "beta_fast": 20, "beta_slow": 2, "truncate": False, **ORIGINAL},
        YaRN(4.0, CONTEXT, beta_fast=20.0, beta_slow=2.0, truncate=False),
    ),
    "yarn: factor given": (
        {"factor": 4.0, "attention_factor": 1.25, **ORIGINAL},
        YaRN(4.0, CONTEXT, attention_factor=1.25),
    ),
    "yarn: both mscales": (
        {"factor": 4.0, "mscale": 0.707, "mscale_all_dim": 0.8, **ORIGINAL},
        YaRN(4.0, CONTEXT, mscale=0.707, mscale_all_dim=0.8),
    ),
    "llama3": (
        {"factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, **ORIGINAL},
        Llama3Scaling(4.0, CONTEXT),
    ),
    "longrope": (
        {"factor": 4.0, "short_factor": list(SHORT), "long_factor": list(LONG), **ORIGINAL},
        LongRoPE(SHORT, LONG, CONTEXT, 4 * CONTEXT),
    ),
}


def hf_config(kind, options):
    context = CONTEXT if kind in ("linear", "dynamic") else 4 * CONTEXT
    return LlamaConfig(
        hidden_size=4 * DIM,
        num_attention_heads=4,
        max_position_embeddings=context,
        rope_parameters={"rope_type": kind, "rope_theta": THETA, **options},
    )


def test_every_rule_has_its_oracle():
    """Hugging Face's 'proportional' is no rule for longer contexts: it freezes a share of pairs."""
    tried = {name.split(":")[0] for name in RULES}
    assert set(ROPE_INIT_FUNCTIONS) - tried == {"proportional"}


@pytest.mark.parametrize("seq_len", [None, 100, CONTEXT, 5000])
@pytest.mark.parametrize("name", RULES)
def test_frequencies_are_hugging_faces(lib, name, seq_len):
    """Theirs are float32, so that the last bits differ."""
    options, rule = RULES[name]
    kind = name.split(":")[0]
    theirs, factor = ROPE_INIT_FUNCTIONS[kind](hf_config(kind, options), "cpu", seq_len=seq_len)
    ours, rope_factor, _ = lib.rope_frequencies(DIM, theta=THETA, scaling=rule, seq_len=seq_len)
    np.testing.assert_allclose(lib.numpy(ours), theirs.numpy(), rtol=5e-7)
    assert rope_factor == pytest.approx(factor, rel=1e-12)


@pytest.mark.parametrize("start", [0, 1000, 100000])
def test_half_layout_is_hugging_faces(lib, rng, start):
    """Their angles are float32: the tolerance grows with the position."""
    q, k = rng.standard_normal((2, 2, 3, 7, DIM)).astype("float32")
    positions = np.arange(start, start + 7)
    config = LlamaConfig(
        hidden_size=4 * DIM, num_attention_heads=4, max_position_embeddings=CONTEXT,
        rope_parameters={"rope_type": "default", "rope_theta": THETA},
    )  # fmt: skip
    cos, sin = LlamaRotaryEmbedding(config)(torch.from_numpy(q), torch.from_numpy(positions[None]))
    expected = apply_rotary_pos_emb(torch.from_numpy(q), torch.from_numpy(k), cos, sin)
    tables = lib.rope_table(lib.array(positions), lib.rope_frequencies(DIM, theta=THETA)[0])
    for x, theirs in zip((q, k), expected, strict=True):
        ours = lib.numpy(lib.apply_rope(lib.array(x), *tables, layout="half"))
        np.testing.assert_allclose(ours, theirs.numpy(), atol=2e-6 + 2e-7 * start)


@pytest.mark.parametrize("offset", [0, 900])
def test_interleaved_layout_is_that_of_rotary_embedding_torch(lib, rng, offset):
    x = rng.standard_normal((1, 2, 9, DIM)).astype("float32")
    rotary = RotaryEmbedding(DIM, theta=THETA)
    expected = rotary.rotate_queries_or_keys(torch.from_numpy(x), offset=offset).detach().numpy()
    positions = lib.array(np.arange(offset, offset + 9))
    tables = lib.rope_table(positions, lib.rope_frequencies(DIM, theta=THETA)[0])
    ours = lib.numpy(lib.apply_rope(lib.array(x), *tables, layout="interleaved"))
    np.testing.assert_allclose(ours, expected, atol=2e-6 + 2e-7 * offset)


def test_partial_interleaved_is_that_of_x_transformers(lib, rng):
    """It turns the first numbers of a head, as here, two by two."""
    x = rng.standard_normal((2, 2, 9, 40)).astype("float32")
    freqs, scale = XRotary(32, base=THETA)(torch.arange(9))
    expected = x_apply(torch.from_numpy(x), freqs, scale).numpy()
    tables = lib.rope_table(lib.array(np.arange(9)), lib.rope_frequencies(32, theta=THETA)[0])
    ours = lib.numpy(lib.apply_rope(lib.array(x), *tables, layout="interleaved"))
    np.testing.assert_allclose(ours, expected, atol=3e-6)


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("buckets", "distance"), [(32, 128), (32, 64), (16, 100), (64, 300)])
def test_buckets_are_t5s(lib, bidirectional, buckets, distance):
    """Theirs are computed in float32; ours too, else some distances would change buckets."""
    relative = np.arange(-700, 701)
    expected = T5Attention._relative_position_bucket(
        torch.from_numpy(relative), bidirectional, buckets, distance
    )
    ours = lib.relative_position_bucket(
        lib.array(relative), bidirectional=bidirectional, num_buckets=buckets, max_distance=distance
    )
    np.testing.assert_array_equal(lib.numpy(ours), expected.numpy())
    also = RelativePositionBias._relative_position_bucket(
        torch.from_numpy(relative),
        causal=not bidirectional,
        num_buckets=buckets,
        max_distance=distance,
    )
    np.testing.assert_array_equal(lib.numpy(ours), also.numpy())


def weights_of(bias):
    """What causal softmax makes of a bias alone: a shift of a whole row does not show."""
    n = bias.shape[-1]
    bias = np.where(np.tril(np.ones((n, n), bool)), bias, -np.inf)
    weights = np.exp(bias - bias.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("n_heads", [1, 2, 8, 12, 20])
def test_alibi_is_blooms_and_mpts_up_to_a_shift(lib, n_heads):
    """Both add slope * key position (BLOOM from 0 up, MPT from 1 - n up) to every query alike.

    That differs from slope * distance by a constant in each row, which softmax cancels.
    """
    positions = lib.array(np.arange(9))
    ours = lib.numpy(lib.alibi_bias(lib.alibi_slopes(n_heads), positions, positions))
    bloom = build_alibi_tensor(torch.ones(1, 9), n_heads, torch.float32).numpy()
    mpt = build_mpt_alibi_tensor(n_heads, 9).numpy()
    for theirs in (bloom, mpt):
        full = np.broadcast_to(theirs, (n_heads, 9, 9))
        np.testing.assert_allclose(weights_of(ours), weights_of(full), atol=1e-6)


@pytest.mark.parametrize("n_heads", [4, 12])
def test_alibi_is_that_of_x_transformers_below_the_diagonal(lib, n_heads):
    """It takes the distance in both directions; ahead of the query ours is 0."""
    theirs = AlibiPositionalBias(n_heads)(6, 9).detach().numpy()
    q, k = lib.array(np.arange(3, 9)), lib.array(np.arange(9))
    ours = lib.numpy(lib.alibi_bias(lib.alibi_slopes(n_heads), q, k))
    behind = np.arange(9) <= np.arange(3, 9)[:, None]
    np.testing.assert_allclose(ours[:, behind], theirs[:, behind], rtol=1e-5)
    assert (ours[:, ~behind] == 0).all()
