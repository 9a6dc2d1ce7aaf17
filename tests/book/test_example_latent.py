"""The example with latent attention: each hand-made pattern is really there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mini_attn.numpy as ma
from mini_attn import example
from mini_attn.caching import Transaction
from mini_attn.config import LatentConfig, RopeConfig
from mini_attn.example import latent as example_latent
from mini_attn.numpy.layers._pass import Pass

SEQ = len(example_latent.TOKENS)


def example_layer(dtype: str = "float64") -> Any:
    """The package's layer with the example's weights."""
    config = LatentConfig(
        d_model=example.D_MODEL,
        n_heads=example_latent.N_HEADS,
        kv_lora_rank=example_latent.KV_LORA_RANK,
        qk_nope_head_dim=example_latent.QK_NOPE_HEAD_DIM,
        qk_rope_head_dim=example_latent.QK_ROPE_HEAD_DIM,
        v_head_dim=example_latent.V_HEAD_DIM,
        rope=RopeConfig("interleaved"),
    )
    layer = ma.MultiHeadLatentAttention(config, dtype=dtype)
    matrices = {name: np.array(rows) for name, rows in example_latent.WEIGHTS.items()}
    layer.q_proj.weight[...] = matrices["q"].T  # stored (out, in)
    layer.kv_a_proj_with_mqa.weight[...] = matrices["kv_a"].T
    layer.kv_a_layernorm.weight[...] = example_latent.NORM
    both = np.concatenate([np.array(example_latent.W_UK), np.array(example_latent.W_UV)], axis=2)
    layer.kv_b_proj.weight[...] = both.swapaxes(1, 2).reshape(-1, example_latent.KV_LORA_RANK)
    layer.o_proj.weight[...] = matrices["o"].T
    return layer


def projected(layer: Any, x: Any) -> Any:
    """Queries in two parts, and what is cached: the latents and the rotated keys."""
    return layer._project(x, Pass(x.shape[1], None, Transaction(), None))


def head_weights() -> Any:
    """Attention weights (n_heads, seq, seq), from keys made of every latent."""
    layer = example_layer()
    x = np.array(example_latent.EMBEDDINGS)[None]
    q_nope, q_rope, latent, rope_key = projected(layer, x)
    k_nope = np.einsum("hrn,btr->bhtn", np.array(example_latent.W_UK), latent)
    k_rope = np.broadcast_to(rope_key[:, None], (1, example_latent.N_HEADS, SEQ, 2))
    q, k = np.concatenate([q_nope, q_rope], -1), np.concatenate([k_nope, k_rope], -1)
    return ma.scaled_dot_product_attention(q, k, k, causal=True, return_weights=True)[1][0]


WEIGHTS = head_weights()


def test_head_one_reads_the_token_before() -> None:
    for i in range(1, SEQ):
        assert WEIGHTS[0, i].argmax() == i - 1
        assert WEIGHTS[0, i, i - 1] > 0.85


def test_head_two_finds_what_is_like_it() -> None:
    tokens = example_latent.TOKENS
    others = WEIGHTS[1] - np.diag(np.diag(WEIGHTS[1]))
    assert others[tokens.index(" time")].argmax() == tokens.index("Once")
    assert others[tokens.index(" there")].argmax() == tokens.index(" upon")


def test_head_three_finds_what_is_about_time() -> None:
    about = np.array(example_latent.EMBEDDINGS)[:, 0]
    for i in range(2, SEQ):
        seen = WEIGHTS[2, i, : i + 1]
        assert seen[about[: i + 1] > 0].sum() > 0.9


def test_head_four_prefers_a_small_word_and_the_nearer_one() -> None:
    a, time = 2, 3
    assert WEIGHTS[3, time].argmax() == a
    assert WEIGHTS[3, time, a] > 0.7
    assert WEIGHTS[3, SEQ - 1].argmax() == SEQ - 1  # "was" is half a small word, but right here


def test_latents_have_length_one_and_no_place() -> None:
    x = np.array(example_latent.EMBEDDINGS)[None]
    _, _, latent, rope_key = projected(example_layer(), x)
    np.testing.assert_allclose(np.linalg.norm(latent, axis=-1), 1, atol=1e-5)
    assert np.ptp(np.linalg.norm(rope_key, axis=-1)) < 1e-12  # one arrow, turned


@pytest.mark.parametrize("form", ["expanded", "absorbed"])
def test_forms_agree(form: str) -> None:
    layer = example_layer()
    x = np.array(example_latent.EMBEDDINGS)[None]
    np.testing.assert_allclose(layer(x, form=form), layer(x), rtol=0, atol=1e-12)
