"""Checkpoints of codes and scales, read as numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import mini_attn.numpy as ma
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.weights import config_from_hf, dequantised, from_hf

DEEPSEEK = {
    "model_type": "deepseek_v3", "vocab_size": 13, "hidden_size": 8, "num_hidden_layers": 1,
    "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 12,
    "max_position_embeddings": 16, "kv_lora_rank": 4, "q_lora_rank": 6, "qk_nope_head_dim": 4,
    "qk_rope_head_dim": 2, "v_head_dim": 4, "first_k_dense_replace": 1, "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0, "tie_word_embeddings": False,
}  # fmt: skip


def test_a_deepseek_of_eight_bits_runs(lib, rng):
    config = config_from_hf(DEEPSEEK)
    state, expected = {}, {}
    for name, weight in ma.Decoder(config).state_dict().items():
        full = name if name.startswith("lm_head") else f"model.{name}"
        drawn = rng.standard_normal(weight.shape).astype("float32")
        if weight.ndim < 2 or "embed" in name or "lm_head" in name:
            state[full] = expected[full] = drawn
            continue
        eight = torch.from_numpy(drawn).to(torch.float8_e4m3fn)
        state |= {full: eight, f"{full}_scale_inv": torch.tensor([[0.25]])}
        expected[full] = 0.25 * eight.float().numpy()
    with pytest.raises(ConfigError, match="quantized"):
        from_hf(state, DEEPSEEK)
    tokens, logits = lib.array(np.array([[3, 1, 4]])), []
    for one in (dequantised(state), expected):
        model = lib.Decoder(config)
        model.load_state_dict(from_hf(one, DEEPSEEK))
        logits.append(lib.numpy(model(tokens)))
    np.testing.assert_array_equal(*logits)
    assert np.abs(logits[0]).max() > 0.1


def test_what_is_refused():
    codes, scale = np.full((4, 4), 0x38, np.uint8), np.ones((1, 1), "float32")

    def eight(codes=codes, scale=scale, **options):
        return dequantised({"w": codes, "w_scale_inv": scale}, **options)

    assert (eight()["w"] == 1).all()
    with pytest.raises(ShapeError, match=r"w_scale_inv must be \(2, 2\) for \(4, 4\) in squares"):
        eight(block_size=2)
    with pytest.raises(ShapeError, match="w_scale_inv must be"):
        eight(codes[0])
    with pytest.raises(ConfigError, match="block_size must be at least 1"):
        eight(block_size=0)
    with pytest.raises(DTypeError, match="w must be float8_e4m3fn, or uint8 codes of it, got floa"):
        eight(codes.astype("float32"))
    with pytest.raises(DTypeError, match=r"w must be float8_e4m3fn.*got torch\.float8_e5m2"):
        eight(torch.ones(4, 4).to(torch.float8_e5m2))
    with pytest.raises(DTypeError, match="w_scale_inv must be floating point, got int64"):
        eight(scale=np.ones((1, 1), int))
    for wrong in (eight, lambda **o: eight(scale=np.full((1, 1), np.inf, "f4"))):
        bad = {"codes": np.full((4, 4), 0x7F, np.uint8)} if wrong is eight else {}
        with pytest.raises(ConfigError, match="w: a code or a scale stands for no finite number"):
            wrong(**bad)
    with pytest.raises(ConfigError, match=r"scales without codes: \['w_scale_inv'\]"):
        dequantised({"w_scale_inv": scale})
    blocks = np.zeros((2, 1, 16), np.uint8)
    with pytest.raises(ConfigError, match="w_blocks has no w_scales beside it"):
        dequantised({"w_blocks": blocks})
    with pytest.raises(ConfigError, match=r"scales without codes: \['w_scales'\]"):
        dequantised({"w_scales": blocks})
    with pytest.raises(ShapeError, match=r"w_blocks must be \(\.\.\., rows, groups, 16\)"):
        dequantised({"w_blocks": blocks, "w_scales": blocks})
    with pytest.raises(DTypeError, match="w_scales must be uint8, got float32"):
        dequantised({"w_blocks": blocks, "w_scales": np.ones((2, 1), "f4")})
    with pytest.raises(ConfigError, match="w: a code or a scale stands for no finite number"):
        dequantised({"w_blocks": blocks, "w_scales": np.full((2, 1), 255, np.uint8)})
