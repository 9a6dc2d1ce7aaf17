"""Heads that a configuration ties to the embeddings, though the weights hold another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.config import DecoderConfig
from mini_attn.errors import ConfigError


def has_own_head(state: Mapping[str, Any]) -> bool:
    """Return whether weights hold embeddings and a head that differs from them."""
    head = state.get("lm_head.weight")
    names = (name for name in state if name.endswith(("embed_tokens.weight", "wte.weight")))
    embeddings = next((state[name] for name in names), None)
    if head is None or embeddings is None or head is embeddings:
        return False
    return tuple(head.shape) != tuple(embeddings.shape) or not bool((head == embeddings).all())


def check_head(state: Mapping[str, Any], config: DecoderConfig) -> None:
    """Refuse a head that would be dropped though it is not that of the embeddings."""
    if config.tie_embeddings and has_own_head(state):
        raise ConfigError(
            "lm_head.weight differs from the embeddings that the configuration ties it to: "
            "pass a configuration with tie_embeddings=False to keep both, as Hugging Face does"
        )
