"""A model that is given, or named."""

from __future__ import annotations

from typing import Any

from mini_attn.errors import ConfigError

__all__ = ["listed"]


def listed(model: Any) -> Any:
    """Return the model, or the listed one of that name.

    Parameters
    ----------
    model : ModelConfig, str or whatever has its sizes
        What a cost function was given.

    Returns
    -------
    ModelConfig, or what was given
        It has sizes by name.

    Raises
    ------
    ConfigError
        If no listed model has that name, or what was given has no sizes.

    Examples
    --------
    >>> listed("llama-3-8b").n_layers
    32
    """
    if isinstance(model, str):
        from mini_attn.models import model as called  # only a name needs all models

        return called(model)
    if not hasattr(model, "n_heads"):
        raise ConfigError(
            "model must be a ModelConfig or the name of a listed one, such as 'gpt2', "
            f"got {model!r:.60}"
        )
    return model
