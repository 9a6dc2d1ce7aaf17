"""Weights of decoders with experts: Mixtral, Qwen3-MoE, gpt-oss and MiniMax-M2."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from mini_attn.config import DecoderConfig
from mini_attn.errors import ConfigError, ShapeError
from mini_attn.shapes import check_choice
from mini_attn.weights.llama import from_llama

__all__ = ["from_experts"]

KINDS = ("gate", "up")
PARTS = {"w1": "gate_proj", "w3": "up_proj", "w2": "down_proj"}  # as Mixtral's files name them
_LAYER = r"(layers\.[0-9]+\.)(?:mlp|block_sparse_moe)\."
ONE = re.compile(_LAYER + r"experts\.(0|[1-9][0-9]{0,8})\.(w[123]|(?:gate|up|down)_proj)\.weight")
ALL = re.compile(
    _LAYER + r"(gate\.weight|router\.(?:weight|bias)|e_score_correction_bias"
    r"|experts\.(?:gate_up|down)_proj(?:_bias)?)"
)


def from_experts(
    state: Mapping[str, Any], config: DecoderConfig, *, order: str = "stacked"
) -> dict[str, Any]:
    """Weights of Mixtral, Qwen3-MoE, gpt-oss or MiniMax-M2 under this package's names.

    ``gate_proj[e], up_proj[e] = experts.e.gate_proj, experts.e.up_proj``, or cut out of
    ``experts.gate_up_proj[e]``

    Parameters
    ----------
    state : mapping of str to array
        Weights as Hugging Face names them, with or without the prefix ``model.``: each expert by
        itself, as files of all but gpt-oss have them, or all of a layer in one array.
    config : DecoderConfig
        Sizes of the decoder that gets the weights; layers beyond its own are left out.
    order : {"stacked", "interleaved"}
        How an array of all experts holds gates and what they multiply: the rows of the one, then
        those of the other; or in turn, one column each, with matrices (in, out), as gpt-oss.

    Returns
    -------
    dict of str to array
        For ``Decoder(config).load_state_dict``; experts that were apart are copied into one
        array, all others are the given arrays and views of them.

    Raises
    ------
    ConfigError
        If a layer's experts come in two forms, or their numbers are not 0 … n_experts - 1, or
        the layer has none, or the weights are quantized.
    ShapeError
        If an array has other axes than the configuration says.

    References
    ----------
    jiang2024mixtral, section 2.1

    Examples
    --------
    >>> import numpy as np
    >>> from mini_attn.config import AttentionConfig, ExpertConfig
    >>> config = DecoderConfig(16, 1, AttentionConfig(8, 2, 4), d_ff=6, max_positions=8,
    ...     experts=ExpertConfig(n_experts=2, experts_per_token=1, d_ff=6))
    >>> path = "layers.0.block_sparse_moe.experts"
    >>> state = {f"{path}.{e}.w1.weight": np.ones((6, 8)) for e in (0, 1)}
    >>> {name: array.shape for name, array in from_experts(state, config).items()}
    {'layers.0.mlp.gate_proj': (2, 6, 8)}
    """
    check_choice("order", order, ("stacked", "interleaved"))
    weights: dict[str, Any] = {}
    apart: dict[str, dict[int, Any]] = {}  # what is to be one array, by expert
    for name, weight in from_llama(state, config).items():
        if one := ONE.fullmatch(name):
            layer, number, part = one.groups()
            whole = f"{layer}mlp.{PARTS.get(part, part)}"
            apart.setdefault(whole, {})[int(number)] = weight
        elif together := ALL.fullmatch(name):
            layer, part = together.groups()
            for ours, array in _cut(name, part, weight, order).items():
                weights[f"{layer}mlp.{ours}"] = array
        else:
            weights[name] = weight
    for name, found in apart.items():
        if name in weights:
            raise ConfigError(f"{name} comes twice: for each expert, and for all of them")
        experts = config.layer_experts[int(name.split(".")[1])]
        if experts is None:
            raise ConfigError(f"{name} is of experts, which this layer of the configuration lacks")
        weights[name] = _joined(name, found, experts.n_experts)
    return weights


def _cut(name: str, part: str, weight: Any, order: str) -> dict[str, Any]:
    """The router's or all experts' numbers under the names of one layer's module."""
    if part == "e_score_correction_bias":
        return {"router.bias": weight}
    if part.startswith(("gate.", "router.")):
        return {f"router.{part.partition('.')[2]}": weight}
    short, bias = part.removeprefix("experts."), part.endswith("_bias")
    if len(weight.shape) != 3 - bias:
        raise ShapeError(f"{name} must have {3 - bias} axes, got shape {tuple(weight.shape)}")
    turned = order == "interleaved" and not bias  # from (in, out)
    whole = weight.swapaxes(1, 2) if turned else weight
    if short.startswith("down"):
        return {short: whole}
    if whole.shape[1] % 2:
        raise ShapeError(f"{name} must have gates and as many others, got {tuple(weight.shape)}")
    half = whole.shape[1] // 2
    cuts = (slice(half), slice(half, None))
    if order == "interleaved":
        cuts = (slice(0, None, 2), slice(1, None, 2))
    tail = "_bias" if bias else ""
    return {f"{kind}_proj{tail}": whole[:, cut] for kind, cut in zip(KINDS, cuts, strict=True)}


def _joined(name: str, found: dict[int, Any], n_experts: int) -> Any:
    """The experts' matrices as one array, each in the place of its number."""
    if sorted(found) != list(range(n_experts)):
        numbers = f"got {sorted(found)!s:.80}"
        raise ConfigError(f"{name} needs the experts 0 … {n_experts - 1}, {numbers}")
    first = found[0]
    shape = (n_experts, *first.shape)
    make = getattr(first, "new_empty", None)  # a tensor's; none where there is only NumPy
    whole = np.empty(shape, first.dtype) if make is None else make(shape)
    for number, matrix in found.items():
        if matrix.shape != first.shape or matrix.dtype != first.dtype:
            raise ShapeError(
                f"{name}: expert {number} is {tuple(matrix.shape)} {matrix.dtype}, "
                f"expert 0 is {tuple(first.shape)} {first.dtype}"
            )
        whole[number] = matrix
    return whole
