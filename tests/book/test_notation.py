"""The map of names on the notation page, held against Hugging Face's configurations."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mini_attn.config import DecoderConfig
from mini_attn.weights import config_from_hf

PAGE = Path(__file__).resolve().parents[2] / "book/notation.md"
# A number of its own for every name, so that none can arrive under another's.
SIZES = {
    "llama": {
        "vocab_size": 67, "hidden_size": 48, "num_attention_heads": 6, "num_key_value_heads": 3,
        "head_dim": 10, "num_hidden_layers": 2, "intermediate_size": 71, "rope_theta": 4321.0,
        "max_position_embeddings": 131, "rms_norm_eps": 3e-5,
    },
    "gpt2": {
        "vocab_size": 67, "n_embd": 40, "n_head": 5, "n_layer": 2, "n_inner": 71,
        "n_positions": 131, "layer_norm_epsilon": 3e-5,
    },
    "mistral": {
        "vocab_size": 67, "hidden_size": 48, "num_attention_heads": 6, "num_key_value_heads": 3,
        "head_dim": 10, "num_hidden_layers": 2, "intermediate_size": 71, "rope_theta": 4321.0,
        "max_position_embeddings": 131, "rms_norm_eps": 3e-5, "sliding_window": 17,
    },
    "gemma2": {
        "vocab_size": 67, "hidden_size": 48, "num_attention_heads": 6, "num_key_value_heads": 3,
        "head_dim": 10, "num_hidden_layers": 1, "intermediate_size": 71,
        "max_position_embeddings": 131, "attn_logit_softcapping": 41.0,
        "final_logit_softcapping": 37.0,
    },
    "deepseek_v2": {
        "vocab_size": 67, "hidden_size": 48, "num_attention_heads": 6, "num_key_value_heads": 6,
        "num_hidden_layers": 2, "first_k_dense_replace": 2, "intermediate_size": 71,
        "max_position_embeddings": 131, "rms_norm_eps": 3e-5, "kv_lora_rank": 11,
        "q_lora_rank": 13, "qk_nope_head_dim": 7, "qk_rope_head_dim": 4, "v_head_dim": 9,
    },
}  # fmt: skip
FAMILY = {"GPT-2": "gpt2", "Mistral": "mistral", "Gemma2": "gemma2", "DeepSeek": "deepseek_v2"}


def rows() -> dict[str, list[tuple[str, str]]]:
    """Our name, and for each family the first name that the page gives."""
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index("(name-map)=") : text.index("### In the papers")]
    found: dict[str, list[tuple[str, str]]] = {}
    for ours, theirs in re.findall(r"^\| `(\w+)` \| ([^|]+) \|", table, re.MULTILINE):
        pairs = []
        if only := re.match(r"`(\w+)` \((\w+)\)$", theirs.strip()):
            pairs.append((FAMILY[only[2]], only[1]))
        else:
            first = re.match(r"`(\w+)`", theirs)
            assert first
            pairs.append(("llama", first[1]))
            if other := re.search(r"\(GPT-2: `(\w+)`", theirs):
                pairs.append(("gpt2", other[1]))
        found[ours] = pairs
    return found


def here(config: DecoderConfig, name: str) -> Any:
    """A number of a decoder by our name, wherever it stands."""
    for place in (config.attention, config, getattr(config.attention, "rope", None)):
        if place is not None and hasattr(place, name) and name != "eps":
            return getattr(place, name)
    return config.eps


ROWS = [(ours, family, theirs) for ours, pairs in rows().items() for family, theirs in pairs]


def test_the_map_is_read() -> None:
    assert len(ROWS) > 20
    assert {"d_model", "n_kv_heads", "window", "theta", "kv_lora_rank"} <= rows().keys()


@pytest.mark.parametrize(("ours", "family", "theirs"), ROWS)
def test_a_number_arrives_under_our_name(ours: str, family: str, theirs: str) -> None:
    given = {"model_type": family, **SIZES[family]}
    assert theirs in given, f"the page names {theirs}, which this test does not set"
    assert here(config_from_hf(given), ours) == given[theirs]


@pytest.mark.parametrize(("ours", "family", "theirs"), ROWS)
def test_hugging_face_knows_the_name(ours: str, family: str, theirs: str) -> None:
    """The name exists in the configuration that Hugging Face itself ships."""
    from transformers import AutoConfig

    config = AutoConfig.for_model(family)
    known = {**config.to_dict(), **(getattr(config, "rope_parameters", None) or {})}
    assert theirs in known or hasattr(config, theirs)
