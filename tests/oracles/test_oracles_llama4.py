"""Llama 4's attention, layer by layer: chunks, layers where nothing turns, growing queries.

Hugging Face's decoder runs whole; each of our layers is given what its attention was given.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
import torch

import mini_attn.numpy as ma
import mini_attn.torch as mt
from mini_attn.config import AttentionConfig, Llama3Scaling, QueryGrowth, RopeConfig
from tests.oracles.wide import ATOL, built, wide

SEQ = 23
LLAMA3 = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}  # fmt: skip


def drawn(seed: int) -> dict[str, Any]:
    """Return a small configuration, drawn at random."""
    draw = Random(f"llama4 {seed}")
    kv, group, layers = draw.choice([1, 2, 3]), draw.choice([1, 2, 4]), draw.randint(2, 4)
    rule = draw.choice([{"rope_type": "default"}, LLAMA3])
    return {
        "vocab_size": 61, "hidden_size": draw.choice([16, 20]), "head_dim": draw.choice([4, 6, 8]),
        "num_attention_heads": kv * group, "num_key_value_heads": kv, "num_hidden_layers": layers,
        "intermediate_size": 10, "intermediate_size_mlp": 14, "num_local_experts": 2,
        "no_rope_layers": [draw.randint(0, 1) for _ in range(layers - 2)] + [0, 1],
        "attention_chunk_size": draw.choice([2, 5, 8, 40]), "use_qk_norm": draw.random() < 0.7,
        "attn_temperature_tuning": draw.random() < 0.7, "floor_scale": draw.choice([1, 4, 7]),
        "attn_scale": draw.choice([0.1, 0.8]), "attention_bias": draw.random() < 0.3,
        "rms_norm_eps": draw.choice([1e-5, 1e-3]), "max_position_embeddings": 64,
        "rope_parameters": {**rule, "rope_theta": draw.choice([100.0, 5e5])},
        "initializer_range": 0.3, "pad_token_id": 0, "bos_token_id": None, "eos_token_id": None,
        "interleave_moe_layer_step": 2,
    }  # fmt: skip


def attention_of(options: dict[str, Any], layer: int) -> AttentionConfig:
    """Return our configuration of one of its layers."""
    turns, rule = bool(options["no_rope_layers"][layer]), options["rope_parameters"]
    scaling = None
    if rule["rope_type"] == "llama3":
        scaling = Llama3Scaling(8.0, 16, low_freq_factor=1.0, high_freq_factor=4.0)
    growth = QueryGrowth(options["attn_scale"], options["floor_scale"], offset=1)
    return AttentionConfig(
        options["hidden_size"],
        options["num_attention_heads"],
        options["head_dim"],
        n_kv_heads=options["num_key_value_heads"],
        bias=options["attention_bias"],
        # A turn keeps a head's length: normalized before or after it, the head is the same.
        qk_norm=options["use_qk_norm"] and turns,
        eps=options["rms_norm_eps"],
        window=options["attention_chunk_size"] if turns else None,
        chunked=turns,
        rope=RopeConfig("interleaved", rule["rope_theta"], scaling=scaling) if turns else None,
        query_growth=None if turns or not options["attn_temperature_tuning"] else growth,
    )


def watched(theirs: Any) -> tuple[list[list[Any]], list[list[Any]]]:
    """Collect what each attention is given and what it gives, pass by pass."""
    layers = theirs.model.layers
    given: list[list[Any]] = [[] for _ in layers]
    found: list[list[Any]] = [[] for _ in layers]
    for number, layer in enumerate(layers):

        def kept(_: Any, args: Any, kwargs: Any, out: Any, number: int = number) -> None:
            given[number].append(kwargs["hidden_states"].clone())
            found[number].append(out[0].clone())

        layer.self_attn.register_forward_hook(kept, with_kwargs=True)
    return given, found


def compare(seed: int) -> float:
    """Assert that every layer gives what theirs gives; return the largest difference."""
    options, largest = drawn(seed), 0.0
    theirs, _ = built("Llama4", options, seed)
    given, found = watched(theirs)
    draw = torch.Generator().manual_seed(seed)
    tokens = torch.randint(1, 61, (2, SEQ), generator=draw)
    with wide("Llama4"):
        theirs(tokens)
        past = None
        for part in tokens.split([9, 1, 1, 12], dim=1):
            past = theirs(part, past_key_values=past, use_cache=True).past_key_values
    for number, layer in enumerate(theirs.model.layers):
        config = attention_of(options, number)
        state = dict(layer.self_attn.state_dict())
        if config.qk_norm:
            state |= dict.fromkeys(
                ("q_norm.weight", "k_norm.weight"), torch.ones(config.head_dim).double()
            )
        x, expected = given[number][0], found[number][0].numpy()
        assert np.abs(expected).max() > 0.01
        for passes in (given[number][1:], found[number][1:]):  # their cache gives the same
            assert len(passes) == 4
        steps = torch.cat(found[number][1:], dim=1).numpy()
        np.testing.assert_allclose(steps, expected, rtol=0, atol=ATOL)
        for module in (ma, mt):
            largest = max(largest, _difference(module, config, state, x, expected))
    return largest


def _difference(module: Any, config: AttentionConfig, state: Any, x: Any, expected: Any) -> float:
    """Assert that a prompt, chunks and steps give what is expected; return how far they are."""
    ours = module.GroupedQueryAttention(config, dtype="float64")
    ours.load_state_dict({k: w.numpy() for k, w in state.items()} if module is ma else state)
    given, largest = x.numpy() if module is ma else x, 0.0
    for parts in ((SEQ,), (9, 1, 1, 5, 1, 1, 1, 3, 1), (2, 13, 8)):
        cache = ours.new_cache(2, SEQ) if len(parts) > 1 else None
        with torch.no_grad():
            answers = [
                np.asarray(ours(given[:, end - size : end], cache=cache))
                for size, end in zip(parts, np.cumsum(parts), strict=True)
            ]
        answer = np.concatenate(answers, axis=1)
        np.testing.assert_allclose(answer, expected, rtol=0, atol=ATOL)
        largest = max(largest, float(np.abs(answer - expected).max()))
    return largest


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(4, 40))]
)
def test_every_attention_layer_gives_what_theirs_gives(seed: int) -> None:
    compare(seed)
