"""GPT-2's weights under this package's names.

Only slices and transposes are used, so arrays and tensors both pass through.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.config import AttentionConfig, DecoderConfig
from mini_attn.errors import ConfigError, ShapeError
from mini_attn.weights._quantised import refuse_quantised
from mini_attn.weights._tied import check_head

__all__ = ["from_gpt2"]


def from_gpt2(state: Mapping[str, Any], config: DecoderConfig) -> dict[str, Any]:
    """GPT-2's weights, as Hugging Face names and stores them, under this package's names.

    ``q_proj.weight, k_proj.weight, v_proj.weight = split(c_attn.weight, 3, axis=1).T``

    Parameters
    ----------
    state : mapping of str to array
        ``GPT2LMHeadModel(...).state_dict()`` or ``GPT2Model(...).state_dict()``. Its ``lm_head``
        is read where the configuration does not tie the embeddings.
    config : DecoderConfig
        Sizes of the decoder that gets the weights.

    Returns
    -------
    dict of str to array
        For ``Decoder(config).load_state_dict``; views of the given arrays.

    Raises
    ------
    ConfigError
        If the configuration is not GPT-2's layout, a weight is missing, or the configuration
        ties the embeddings and the weights hold another ``lm_head``.

    Notes
    -----
    GPT-2's projections are stored (in, out), the transpose of a linear layer's, and its
    query, key and value projections are one matrix.

    References
    ----------
    radford2019gpt2, section 2.3

    Examples
    --------
    >>> from mini_attn.config import AttentionConfig
    >>> attention = AttentionConfig(d_model=8, n_heads=2, head_dim=4)
    >>> from_gpt2({}, DecoderConfig(16, 1, attention, d_ff=32, max_positions=8))
    Traceback (most recent call last):
    mini_attn.errors.ConfigError: GPT-2 needs bias=True, got False
    """
    for attention in config.attentions:
        if not isinstance(attention, AttentionConfig):
            raise ConfigError(f"GPT-2 has plain attention, got {attention!r:.60}")
        _check_needs(
            ("bias", attention.bias and attention.out_bias, True),
            ("n_kv_heads", attention.n_kv_heads, attention.n_heads),
            ("v_head_dim", attention.v_head_dim, attention.head_dim),
            ("qk_norm", attention.qk_norm, False),
            ("sinks", attention.sinks, False),
        )
    _check_needs(
        ("mlp", config.mlp, "plain"),
        ("norm", config.norm, "layer_norm"),
        ("positions", config.positions, "learned"),
        ("mlp_bias", config.mlp_bias, True),
    )
    refuse_quantised(state)
    check_head(state, config)
    source = {name.removeprefix("transformer."): weight for name, weight in state.items()}
    try:
        weights = {
            "embed_tokens.weight": source["wte.weight"],
            "embed_positions.weight": source["wpe.weight"],
            "norm.weight": source["ln_f.weight"],
            "norm.bias": source["ln_f.bias"],
        }
        if not config.tie_embeddings:
            weights["lm_head.weight"] = source["lm_head.weight"]
        for layer, attention in enumerate(config.attentions):
            width = attention.n_heads * attention.head_dim
            part = _gpt2_layer(source, f"h.{layer}.", width)
            weights.update({f"layers.{layer}.{name}": value for name, value in part.items()})
    except KeyError as missing:
        raise ConfigError(f"the state dict has no {missing}: is it GPT-2's?") from None
    return weights


def _check_needs(*needs: tuple[str, Any, Any]) -> None:
    """Refuse options that differ from GPT-2's."""
    for name, value, needed in needs:
        if value != needed:
            raise ConfigError(f"GPT-2 needs {name}={needed!r}, got {value!r}")


def _gpt2_layer(source: Mapping[str, Any], prefix: str, width: int) -> dict[str, Any]:
    """One layer's weights; ``width`` separates queries, keys and values."""
    plain = {
        "input_layernorm": "ln_1",
        "post_attention_layernorm": "ln_2",
        "self_attn.o_proj": "attn.c_proj",
        "mlp.up_proj": "mlp.c_fc",
        "mlp.down_proj": "mlp.c_proj",
    }
    weights = {}
    for ours, theirs in plain.items():
        for kind in ("weight", "bias"):
            weight = source[f"{prefix}{theirs}.{kind}"]
            turned = kind == "weight" and "proj" in ours
            if turned:
                _check_axes(f"{prefix}{theirs}.{kind}", weight, 2)
            weights[f"{ours}.{kind}"] = weight.T if turned else weight
    fused, biases = (source[f"{prefix}attn.c_attn.{kind}"] for kind in ("weight", "bias"))
    _check_axes(f"{prefix}attn.c_attn.weight", fused, 2, 3 * width)
    _check_axes(f"{prefix}attn.c_attn.bias", biases, 1, 3 * width)
    for i, name in enumerate(("q_proj", "k_proj", "v_proj")):
        part = slice(i * width, (i + 1) * width)
        weights[f"self_attn.{name}.weight"] = fused[:, part].T
        weights[f"self_attn.{name}.bias"] = biases[part]
    return weights


def _check_axes(name: str, weight: Any, axes: int, last: int | None = None) -> None:
    """Refuse what cannot be turned, or not be cut into queries, keys and values."""
    shape = tuple(weight.shape)
    if len(shape) != axes or last not in (None, shape[-1]):
        wanted = "" if last is None else f", the last of size {last}"
        raise ShapeError(f"{name} must have {axes} axes{wanted}, got shape {shape}")
