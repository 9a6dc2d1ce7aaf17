"""Published models, each described once and with its source: costs and decoders follow from it."""

from __future__ import annotations

from mini_attn.errors import ConfigError
from mini_attn.models import (
    community,
    deepseek,
    falcon,
    gemma,
    glm,
    llama,
    mistral,
    openai,
    qwen,
    qwen_hybrid,
)
from mini_attn.models.config import ModelConfig

__all__ = ["MODELS", "ModelConfig", "model"]

_FAMILIES = (openai, llama, mistral, qwen, qwen_hybrid, gemma, deepseek, glm, falcon, community)

MODELS: dict[str, ModelConfig] = {
    entry.name: entry for family in _FAMILIES for entry in family.ENTRIES
}


def model(name: str) -> ModelConfig:
    """The published configuration for a name.

    Parameters
    ----------
    name : str
        For example ``"llama-3-8b"``.

    Returns
    -------
    ModelConfig
        The configuration.

    Raises
    ------
    ConfigError
        If the model is not listed.

    Examples
    --------
    >>> model("gpt2").n_layers
    12
    """
    if name not in MODELS:
        raise ConfigError(f"model must be one of {', '.join(MODELS)}, got {name!r}")
    return MODELS[name]
