"""Positions against code that nobody here wrote: Hugging Face, x-transformers and others."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from rotary_embedding_torch import RotaryEmbedding
from transformers import GPTNeoXConfig, LlamaConfig, Wav2Vec2BertConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.gpt_neox import modeling_gpt_neox as neox
from transformers.models.gptj import modeling_gptj as gptj
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertSelfAttention
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
    "yarn: ramp beyond the last pair": (
        {"factor": 4.0, "original_max_position_embeddings": 262144},
        YaRN(4.0, 262144),
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
    """But 'proportional', which needs no rule here: see the next test."""
    tried = {name.split(":")[0] for name in RULES}
    assert set(ROPE_INIT_FUNCTIONS) - tried == {"proportional"}


def test_proportional_is_interpolation_with_pairs_at_rest(lib):
    """Not rotary_dim: speeds are those of the whole head, and the slow pairs' become 0."""
    options = {"factor": 2.0, "partial_rotary_factor": 0.25}
    theirs, factor = ROPE_INIT_FUNCTIONS["proportional"](hf_config("proportional", options), "cpu")
    ours = lib.rope_frequencies(DIM, theta=THETA, scaling=PositionInterpolation(2.0))[0]
    ours[DIM // 8 :] = 0
    np.testing.assert_allclose(lib.numpy(ours), theirs.numpy(), rtol=5e-7)
    assert factor == 1.0
    x = lib.array(np.ones((1, 1, 1, DIM)))
    tables = lib.rope_table(lib.array(np.array([7])), ours, dtype="float64")
    found = lib.numpy(lib.apply_rope(x, *tables, layout="half"))[0, 0, 0].reshape(2, -1)
    assert (found[:, DIM // 8 :] == 1).all()
    assert (found[:, : DIM // 8] != 1).all()


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


def test_partial_half_layout_is_that_of_gpt_neox(lib, rng):
    """A quarter of the head turns, in halves of that quarter and not of the head."""
    q, k = rng.standard_normal((2, 2, 3, 9, 48)).astype("float32")
    config = GPTNeoXConfig(
        hidden_size=144, num_attention_heads=3, max_position_embeddings=CONTEXT,
        rope_parameters={
            "rope_type": "default", "rope_theta": THETA, "partial_rotary_factor": 0.25,
        },
    )  # fmt: skip
    theirs = [torch.from_numpy(x) for x in (q, k)]
    cos, sin = neox.GPTNeoXRotaryEmbedding(config)(theirs[0], torch.arange(9)[None])
    expected = neox.apply_rotary_pos_emb(*theirs, cos, sin)
    tables = lib.rope_table(lib.array(np.arange(9)), lib.rope_frequencies(12, theta=THETA)[0])
    for x, turned in zip((q, k), expected, strict=True):
        ours = lib.numpy(lib.apply_rope(lib.array(x), *tables, layout="half"))
        np.testing.assert_allclose(ours, turned.numpy(), atol=3e-6)


def test_interleaved_layout_is_gpt_js(lib, rng):
    """It wants (batch, seq, heads, head_dim), and a table with sines before cosines."""
    x, positions = rng.standard_normal((2, 3, 4, 16)).astype("float32"), np.array([0, 5, 9, 100])
    table = gptj.create_sinusoidal_positions(101, 16)[positions][None]
    by_token = torch.from_numpy(x).transpose(1, 2)
    expected = gptj.apply_rotary_pos_emb(by_token, *table.chunk(2, dim=-1)).transpose(1, 2)
    tables = lib.rope_table(lib.array(positions), lib.rope_frequencies(16)[0])
    ours = lib.numpy(lib.apply_rope(lib.array(x), *tables, layout="interleaved"))
    np.testing.assert_allclose(ours, expected.numpy(), atol=1e-5)


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


def test_sinusoids_are_marians_in_another_order(lib):
    """The paper puts a sine and its cosine side by side; Marian all sines before all cosines.

    Attention to them is the same up to the order of the columns of the next weights.
    """
    theirs = MarianSinusoidalPositionalEmbedding(40, 12).create_weight().numpy()
    ours = lib.numpy(lib.sinusoidal_positions(lib.array(np.arange(40)), 12))
    np.testing.assert_allclose(ours[:, 0::2], theirs[:, :6], atol=1e-7)
    np.testing.assert_allclose(ours[:, 1::2], theirs[:, 6:], atol=1e-7)


def test_relative_keys_are_those_of_wav2vec2_bert(lib, rng):
    """Shaw's keys alone: that model has no vectors for values, and a bound for each side."""
    config = Wav2Vec2BertConfig(
        hidden_size=12, num_attention_heads=3, position_embeddings_type="relative_key",
        left_max_position_embeddings=3, right_max_position_embeddings=3, attention_dropout=0.0,
        attn_implementation="eager",
    )  # fmt: skip
    torch.manual_seed(0)
    theirs = Wav2Vec2BertSelfAttention(config).double().eval()
    x = torch.from_numpy(rng.standard_normal((2, 9, 12)))
    with torch.no_grad():
        expected = theirs(x)[1].numpy()
        q, k, v = (
            layer(x).view(2, 9, 3, 4).transpose(1, 2).numpy()
            for layer in (theirs.linear_q, theirs.linear_k, theirs.linear_v)
        )
    relative = lib.RelativePositions(4, 3, dtype="float64")
    keys = theirs.distance_embedding.weight.detach().numpy()
    relative.load_state_dict({"keys": keys, "values": 0 * keys})
    places = lib.array(np.arange(9)), lib.array(np.arange(9))
    bias = relative.score_bias(lib.array(q), *places)
    _, weights = lib.scaled_dot_product_attention(
        *(lib.array(part) for part in (q, k, v)), bias=bias, return_weights=True
    )
    np.testing.assert_allclose(lib.numpy(weights), expected, atol=1e-12)


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


@pytest.mark.parametrize("n_heads", [1, 3, 6, 16, 71])
def test_slopes_are_mpts_and_blooms_in_their_order(lib, n_heads):
    """A step from one key to the next raises the bias by the slope, in both."""
    ours = lib.numpy(lib.alibi_slopes(n_heads))
    bloom = build_alibi_tensor(torch.ones(1, 2), n_heads, torch.float64)[:, 0, 1]
    mpt = build_mpt_alibi_tensor(n_heads, 2)[:, 0].diff()[:, 0]
    for theirs in (bloom, mpt):
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-6)


def test_alibi_behind_left_padding_is_blooms(lib):
    """BLOOM counts the tokens that are none of padding; MPT counts slots, which comes to the same.

    Both give padding a bias, which the mask hides; ours reads the positions that a cache gives.
    """
    mask = np.array([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]])
    positions = np.where(mask, mask.cumsum(axis=1) - 1, -1)
    where = lib.array(positions)
    ours = lib.numpy(lib.alibi_bias(lib.alibi_slopes(4), where, where))
    theirs = (
        build_alibi_tensor(torch.from_numpy(mask), 4, torch.float32).numpy().reshape(2, 4, 1, 5)
    )
    for row, seen in enumerate(mask.astype(bool)):
        tokens = np.ix_(range(4), seen, seen)
        full = np.broadcast_to(theirs[row], (4, 5, 5))
        np.testing.assert_allclose(
            weights_of(ours[row][tokens]), weights_of(full[tokens]), atol=1e-6
        )


@pytest.mark.parametrize("n_heads", [4, 12])
def test_alibi_is_that_of_x_transformers_below_the_diagonal(lib, n_heads):
    """It takes the distance in both directions; ahead of the query ours is 0."""
    theirs = AlibiPositionalBias(n_heads)(6, 9).detach().numpy()
    q, k = lib.array(np.arange(3, 9)), lib.array(np.arange(9))
    ours = lib.numpy(lib.alibi_bias(lib.alibi_slopes(n_heads), q, k))
    behind = np.arange(9) <= np.arange(3, 9)[:, None]
    np.testing.assert_allclose(ours[:, behind], theirs[:, behind], rtol=1e-5)
    assert (ours[:, ~behind] == 0).all()
