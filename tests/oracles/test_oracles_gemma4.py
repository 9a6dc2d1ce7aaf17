"""Gemma 4's text decoders and Gemma 3n's attention against Hugging Face's classes."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from transformers.models.gemma3n import modeling_gemma3n

import mini_attn.numpy as ma
import mini_attn.torch as mt
from mini_attn.config import AttentionConfig, RopeConfig
from mini_attn.cost import cache_bytes, parameter_count
from mini_attn.errors import ConfigError
from mini_attn.weights import config_from_hf, from_hf, model_from_hf
from tests.oracles.wide import wide
from tests.sampling import sampled

FULL, SLIDING = "full_attention", "sliding_attention"
SEEDS = sampled(list(range(24)), lambda seed: seed % 12)


def drawn(seed: int) -> dict[str, Any]:
    """The fields of a small model: any window, any share of layers, with keys as values or not."""
    rng = random.Random(seed)
    n_layers, shared = rng.randint(3, 7), rng.choice((0, 1, 2))
    kinds = [SLIDING, FULL] + [rng.choice((FULL, SLIDING)) for _ in range(n_layers - 3)] + [FULL]
    heads = rng.choice((2, 4))
    return {
        "vocab_size": 47, "vocab_size_per_layer_input": 47, "hidden_size": 8 * rng.randint(2, 4),
        "intermediate_size": rng.choice((12, 20)), "num_hidden_layers": n_layers,
        "num_attention_heads": heads, "num_key_value_heads": rng.choice((1, 2)),
        "head_dim": rng.choice((4, 8)), "global_head_dim": rng.choice((8, 16)),
        "num_global_key_value_heads": rng.choice((None, 1, heads)), "layer_types": kinds,
        "sliding_window": rng.randint(2, 6), "num_kv_shared_layers": min(shared, n_layers - 2),
        "attention_k_eq_v": rng.random() < 0.5, "use_double_wide_mlp": rng.random() < 0.5,
        "hidden_size_per_layer_input": rng.choice((0, 6)), "max_position_embeddings": 64,
        "final_logit_softcapping": rng.choice((None, 3.0)),
        "rope_parameters": {
            FULL: {"rope_type": "proportional", "rope_theta": rng.choice((50.0, 1e6)),
                   "partial_rotary_factor": rng.choice((0.25, 0.5, 1.0))},
            SLIDING: {"rope_type": "default", "rope_theta": 1e4},
        },
    }  # fmt: skip


@pytest.fixture(autouse=True)
def wide_throughout() -> Iterator[None]:
    """Let Hugging Face's norms, rotations and factors be float64 too, which they ask not to be."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with wide("Gemma4"), wide("Gemma3n"):
            yield
    finally:
        torch.set_default_dtype(before)


def oracle(fields: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Hugging Face's model with weights large enough that each part matters, and its file."""
    config = transformers.Gemma4TextConfig(**copy.deepcopy(fields))
    config._attn_implementation = "sdpa"  # whose softmax has the type of its input
    torch.manual_seed(1)
    theirs = transformers.Gemma4ForCausalLM(config).double().eval()
    with torch.no_grad():
        for weight in [
            *theirs.parameters(),
            *(layer.layer_scalar for layer in theirs.model.layers),
        ]:
            weight.copy_(torch.randn_like(weight) * (0.5 if weight.ndim > 1 else 1.0))
    return theirs, {"model_type": "gemma4_text", **fields}


def to_numpy(state: dict[str, Any]) -> dict[str, Any]:
    return {name: weight.detach().numpy() for name, weight in state.items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_logits_of_random_models(seed: int) -> None:
    """Whole, in chunks and in steps, in both backends; also as Hugging Face saves the file."""
    fields = drawn(seed)
    theirs, described = oracle(fields)
    tokens = torch.randint(0, 47, (2, 17), generator=torch.Generator().manual_seed(seed))
    # With hidden states it doesn't cut inputs of layers which may not be there.
    expected = theirs(tokens, use_cache=False, output_hidden_states=True).logits
    config = config_from_hf(described)
    assert config == config_from_hf(theirs.config.to_dict())
    weights = from_hf(theirs.state_dict(), described)
    ours = mt.Decoder(config, dtype="float64")
    ours.load_state_dict(weights)
    reference = ma.Decoder(config, dtype="float64")
    reference.load_state_dict(to_numpy(weights))
    size = expected.abs().max()
    for model, form in ((ours, torch.tensor), (reference, np.asarray)):
        whole = torch.as_tensor(np.asarray(model(form(tokens.numpy()))))
        assert (whole - expected).abs().max() / size < 1e-10
        caches, parts = model.new_caches(2, 17), []
        for begin, end in ((0, 6), (6, 7), (7, 8), (8, 16), (16, 17)):
            part = model(form(tokens[:, begin:end].numpy()), caches=caches)
            parts.append(torch.as_tensor(np.asarray(part)))
        assert (torch.cat(parts, dim=1) - expected).abs().max() / size < 1e-10
    counted = model_from_hf(described)
    held = sum(cache.allocated_bytes for cache in ours.new_caches(1, 9))
    assert held == cache_bytes(counted, batch=1, context=9, dtype_bytes=8)
    assert parameter_count(counted) == sum(weight.numel() for weight in ours.state_dict().values())


def test_the_first_layers_alone() -> None:
    fields = {**drawn(1), "num_kv_shared_layers": 1, "hidden_size_per_layer_input": 6}
    theirs, described = oracle(fields)
    ours = mt.Decoder(config_from_hf(described, n_layers=2), dtype="float64")
    ours.load_state_dict(from_hf(theirs.state_dict(), described, config=ours.config))
    tokens = torch.arange(5)[None]
    states = theirs(tokens, use_cache=False, output_hidden_states=True).hidden_states
    seen: list[Any] = []
    ours.layers[1].register_forward_hook(lambda module, given, out: seen.append(out))
    ours(tokens)
    torch.testing.assert_close(seen[0], states[2], atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("window", [None, 4])
def test_attention_of_gemma_3n(window: int | None) -> None:
    """One layer that keeps keys and values, and one that reads them: Gemma 4's, of one size."""
    kinds = [FULL if window is None else SLIDING] * 2
    config = transformers.Gemma3nTextConfig(
        vocab_size=31, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, sliding_window=window or 4, layer_types=kinds,
        num_kv_shared_layers=1, intermediate_size=[8, 8], activation_sparsity_pattern=[0.0, 0.0],
    )  # fmt: skip
    config._attn_implementation = "sdpa"
    torch.manual_seed(2)
    layers = [modeling_gemma3n.Gemma3nTextAttention(config, i).double() for i in range(2)]
    x, rotary = torch.randn(2, 9, 16).double(), modeling_gemma3n.Gemma3nRotaryEmbedding(config)
    tables = rotary(x, torch.arange(9)[None], kinds[0])
    seen = torch.ones(9, 9, dtype=torch.bool).tril().triu(1 - (window or 9))
    mask = torch.zeros(1, 1, 9, 9).double().masked_fill(~seen, -torch.inf)
    shared: Any = {}
    expected = [
        layer(x, position_embeddings=tables, attention_mask=mask, shared_kv_states=shared)[0]
        for layer in layers
    ]
    theta = config.rope_parameters[kinds[0]]["rope_theta"]
    sizes = AttentionConfig(
        16, 4, 8, n_kv_heads=2, qk_norm=True, v_norm=True, scale=1.0, window=window,
        rope=RopeConfig("half", theta=theta),
    )  # fmt: skip
    keeper = mt.GroupedQueryAttention(sizes, dtype="float64")
    keeper.load_state_dict(layers[0].state_dict())
    torch.testing.assert_close(keeper(x), expected[0], atol=1e-9, rtol=1e-9)
    reader = mt.GroupedQueryAttention(sizes, dtype="float64")
    reader.load_state_dict({**layers[0].state_dict(), **layers[1].state_dict()})
    torch.testing.assert_close(reader(x), expected[1], atol=1e-9, rtol=1e-9)


REFUSED = {
    "experts": ({"enable_moe_block": True}, "no MLP and experts side by side"),
    "both sides": ({"use_bidirectional_attention": "all"}, "looks back only"),
    "tables": ({"vocab_size_per_layer_input": 46, "hidden_size_per_layer_input": 6},
               "vocab_size_per_layer_input = 46 must be vocab_size = 47"),
    "nothing to read": (
        {"layer_types": [FULL, FULL, SLIDING, FULL], "num_hidden_layers": 4,
         "num_kv_shared_layers": 2}, "leaves no layer that keeps keys and values with sliding"
    ),
    "no pair": ({"rope_parameters": {FULL: {"rope_type": "proportional",
                                            "partial_rotary_factor": 0.01}}}, "turns no pair"),
    "some layers": ({"per_layer_config": {"0": {"head_dim": 8}}}, "the same of each layer"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_this_decoder_has_not_is_refused(case: str) -> None:
    more, words = REFUSED[case]
    with pytest.raises(ConfigError, match=words):
        config_from_hf({"model_type": "gemma4_text", **drawn(3), **more})
