"""Hugging Face's description of rotary embeddings in this package's terms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mini_attn.config import (
    DynamicNTK,
    Llama3Scaling,
    LongRoPE,
    PositionInterpolation,
    RopeConfig,
    RopeScaling,
    YaRN,
)
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count, check_positive
from mini_attn.weights._described import count, mapping, number
from mini_attn.weights._known import refuse_unknown
from mini_attn.weights._layer_lists import FULL, SLIDING

__all__ = ["rope_from_hf", "ropes_by_kind"]

ROPE = """
rope_type type rope_theta partial_rotary_factor factor original_max_position_embeddings
attention_factor beta_fast beta_slow mscale mscale_all_dim truncate finetuned short_factor
long_factor low_freq_factor high_freq_factor
"""

PARTIAL = (
    "phi3",
    "minimax_m2",
    "qwen3_next",
    "qwen3_5_text",
    "qwen3_5_moe_text",
)  # the families whose heads turn a part of themselves
PROPORTIONAL = ("gemma4_text",)  # those of whose pairs only the fastest turn
TRAINED, LONGEST = "original_max_position_embeddings", "max_position_embeddings"


def rope_from_hf(
    config: Mapping[str, Any],
    head_dim: int,
    *,
    layout: str,
    latent: bool = False,
    theta: float = 10000.0,
) -> RopeConfig:
    """The rotary embedding that a Hugging Face configuration describes.

    ``theta, rule = rope_parameters``, or ``rope_theta`` and ``rope_scaling`` of older files

    Parameters
    ----------
    config : mapping
        The whole configuration.
    head_dim : int
        Numbers that a partial rotation is a share of.
    layout : {"half", "interleaved"}
        Which two numbers turn together; the file does not say.
    latent : bool
        Whether scores get the square of YaRN's ``mscale_all_dim``, as DeepSeek's do.
    theta : float
        The base where the configuration gives none.

    Returns
    -------
    RopeConfig
        Base, share that turns, and rule.

    Raises
    ------
    ConfigError
        If the rule is none of the six, or a number of it is missing.

    Examples
    --------
    >>> rope_from_hf({"rope_theta": 5e5}, 64, layout="half").theta
    500000.0
    """
    given = mapping(
        "rope_scaling", config.get("rope_parameters") or config.get("rope_scaling") or {}
    )
    if any(isinstance(value, Mapping) for value in given.values()):
        raise ConfigError(f"one rotary embedding per kind of layer is not read: {sorted(given)}")
    share = number(given, "partial_rotary_factor", None)
    share = number(config, "partial_rotary_factor", None) if share is None else share
    family = config.get("model_type")
    kind = given.get("rope_type") or given.get("type") or "default"
    if family in PROPORTIONAL and kind == "proportional":
        return _proportional(config, given, head_dim, layout, theta)
    if share not in (None, 1.0) and family not in PARTIAL:
        raise ConfigError(
            f"partial_rotary_factor = {share} is not known of {family}: Hugging Face's layers turn "
            "whole heads or fail, and this decoder would turn a part of each"
        )
    refuse_unknown({"model_type": family, **given}, ROPE.split())
    if family == "phi3" and kind == "yarn":
        kind = "longrope"  # what its class reads in the name
    try:
        scaling = _rule(kind, _numbers(config, given), latent)
    except KeyError as missing:
        raise ConfigError(f"rotary rule {kind!r} needs {missing}, got {given!s:.200}") from None
    said = number(given, "rope_theta", None) or number(config, "rope_theta", None)
    return RopeConfig(
        layout=layout,
        theta=said or theta,
        rotary_dim=None if not share or share == 1.0 else int(head_dim * share),
        scaling=scaling,
    )


def _proportional(
    config: Mapping[str, Any], given: Mapping[str, Any], head_dim: int, layout: str, theta: float
) -> RopeConfig:
    """A rule by which only the fastest pairs turn, each as fast as it would among all."""
    refuse_unknown({"model_type": config["model_type"], **given}, ROPE.split())
    share, factor = number(given, "partial_rotary_factor", 1.0), number(given, "factor", 1.0)
    pairs = int(share * head_dim // 2)
    if not pairs:
        raise ConfigError(f"partial_rotary_factor = {share} of {head_dim} numbers turns no pair")
    said = number(given, "rope_theta", None) or number(config, "rope_theta", None)
    scaling = None if factor == 1.0 else PositionInterpolation(factor)
    return RopeConfig(layout, said or theta, scaling=scaling, rotated_pairs=pairs)


def ropes_by_kind(
    config: Mapping[str, Any], head_dim: int, bases: Mapping[str, tuple[Any, float]]
) -> dict[str, RopeConfig]:
    """The rotary embeddings of layers that see all and of those with a window, which differ.

    ``rope_scaling`` of older files stretches the layers that see all, and no others

    Parameters
    ----------
    config : mapping
        The whole configuration.
    head_dim : int
        Numbers that a partial rotation is a share of.
    bases : mapping of str to tuple
        For each kind of layer the base that the file gives beside its rules, and the default.

    Returns
    -------
    dict of str to RopeConfig
        By the kind of layer, as ``layer_types`` names it.

    Raises
    ------
    ConfigError
        If the file has rules of other kinds, or one that `rope_from_hf` refuses.

    Examples
    --------
    >>> bases = {"full_attention": (None, 1e6), "sliding_attention": (None, 1e4)}
    >>> ropes_by_kind({}, 64, bases)["full_attention"].theta
    1000000.0
    """
    given = mapping("rope_parameters", config.get("rope_parameters") or {})
    if not given.keys() <= {FULL, SLIDING}:
        raise ConfigError(
            f"rope_parameters of {config.get('model_type')} must be those of {FULL} and {SLIDING}, "
            f"got {sorted(map(str, given))!s:.120}"
        )
    rules = {kind: mapping(kind, given.get(kind) or {}) for kind in bases}
    stretched = mapping("rope_scaling", config.get("rope_scaling") or {})
    if FULL in rules:
        rules[FULL] = {**rules[FULL], **stretched}
    bare = {**config, "rope_scaling": None}
    return {
        kind: rope_from_hf(
            {**bare, "rope_parameters": rules[kind], "rope_theta": said},
            head_dim,
            layout="half",
            theta=default,
        )
        for kind, (said, default) in bases.items()
    }


def _numbers(config: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The rule's numbers with both contexts; Phi-3 reads the trained one beside the rule alone."""
    trained = count(config, TRAINED, 4096 if config.get("model_type") == "phi3" else None)
    longest = count(config, LONGEST, None)
    trained = trained or count(given, TRAINED, None) or longest
    numbers = {**given, TRAINED: trained, LONGEST: longest}
    return {name: value for name, value in numbers.items() if value is not None}


def _rule(kind: str, numbers: Mapping[str, Any], latent: bool) -> RopeScaling | None:
    """The rule by its name there; NTK-aware interpolation has none, it is a larger base."""
    if kind == "default":
        return None
    if kind == "linear":
        return PositionInterpolation(numbers["factor"])
    if kind == "dynamic":  # grows from the longest context, whatever was trained
        return DynamicNTK(numbers["factor"], numbers[LONGEST])
    if kind == "llama3":
        return Llama3Scaling(
            numbers["factor"],
            numbers[TRAINED],
            low_freq_factor=numbers["low_freq_factor"],
            high_freq_factor=numbers["high_freq_factor"],
        )
    if kind == "yarn":
        return _yarn(numbers, latent)
    if kind in ("longrope", "su"):
        return _longrope(numbers)
    raise ConfigError(f"rotary rule {kind!r:.60} is none of the six of this package")


def _yarn(numbers: Mapping[str, Any], latent: bool) -> YaRN:
    """YaRN; only DeepSeek's attention lets ``mscale_all_dim`` multiply the scores too."""
    mscale, whole = (number(numbers, name, None) or None for name in ("mscale", "mscale_all_dim"))
    factor = _factor(numbers)
    attention_factor = numbers.get("attention_factor")
    if not latent and attention_factor is None and mscale is not None and whole is not None:
        check_positive("mscale_all_dim", whole)
        attention_factor = _temperature(factor, mscale) / _temperature(factor, whole)
    return YaRN(
        factor,
        numbers[TRAINED],
        beta_fast=numbers.get("beta_fast") or 32.0,
        beta_slow=numbers.get("beta_slow") or 1.0,
        attention_factor=attention_factor,
        mscale=mscale if latent else None,
        mscale_all_dim=whole if latent else None,
        truncate=numbers.get("truncate", True),
    )


def _factor(numbers: Mapping[str, Any]) -> float:
    """Return how much longer the context became; a context grows."""
    if "factor" in numbers:
        return PositionInterpolation(numbers["factor"]).factor
    trained, longest = check_count(TRAINED, numbers[TRAINED]), numbers[LONGEST]
    if longest < trained:
        raise ConfigError(
            f"the rotary rule gives no factor, and {LONGEST} = {longest} is less than "
            f"{TRAINED} = {trained}: no context grows"
        )
    return float(longest / trained)


def _temperature(factor: float, weight: float) -> float:
    """DeepSeek's factor of queries and keys for one weight of it."""
    return 0.1 * weight * math.log(factor) + 1.0


def _longrope(numbers: Mapping[str, Any]) -> LongRoPE:
    """LongRoPE; a factor of its own replaces the ratio of the two contexts."""
    trained = check_count(TRAINED, numbers[TRAINED], least=2)
    attention_factor = numbers.get("attention_factor")
    if attention_factor is None:
        shrunk = "factor" not in numbers and numbers[LONGEST] < trained  # only the short factors
        factor = 1.0 if shrunk else _factor(numbers)
        growth = math.log(factor) / math.log(trained) if factor > 1 else 0.0
        attention_factor = math.sqrt(1 + growth)
    return LongRoPE(
        numbers["short_factor"],
        numbers["long_factor"],
        trained,
        max(trained, numbers[LONGEST]),
        attention_factor=attention_factor,
    )
