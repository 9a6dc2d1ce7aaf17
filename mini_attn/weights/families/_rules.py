"""What no table of keys says of a family: which layers have a window, entries or experts.

`js/your_model/rules.js` has the same rules under the same names; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count
from mini_attn.weights._described import flag, mapping
from mini_attn.weights._layer_lists import (
    FULL,
    LINEAR,
    SLIDING,
    check_layers,
    check_window,
    layer_windows,
)
from mini_attn.weights.compressed import HEAVY, SPARSE, kinds_of, rates_of
from mini_attn.weights.families._sizes import size

STATE_WORDS = {
    "head_dim": "linear_head_dim",
    "num_heads": "linear_num_heads",
    "short_conv_kernel_size": "linear_conv_kernel_dim",
    "full_attn_layers": "full_attn_layers",
}


def windows_of(config: Mapping[str, Any], n_layers: int) -> list[int | None]:
    """Return the window of each layer, None where it sees all."""
    rule, window = size(config, "windows"), size(config, "window")
    asked = size(config, "window_asked")
    if rule == "none":
        return [None] * n_layers
    if rule == "one":  # of all layers, whatever the file says of each
        return [window if asked else None] * n_layers
    if rule == "behind" and not asked:
        window = None
    kinds = size(config, "layer_types")
    check_window(kinds, window)
    if kinds is None:
        kinds = _PATTERNS[rule](config, n_layers, asked and window is not None)
        if rule.startswith("in_turn"):
            check_window(kinds, window)
    return layer_windows(kinds, window, n_layers)


def _behind(config: Mapping[str, Any], n_layers: int, windowed: bool) -> list[str]:
    """Return Qwen's kinds of layers: windows behind the first few."""
    first = min(size(config, "first_windowed"), n_layers)
    return [FULL] * first + [SLIDING] * n_layers


def _unturned(config: Mapping[str, Any], n_layers: int, windowed: bool) -> list[str]:
    """Return SmolLM3's: windows where nothing turns, if they're asked for."""
    return [SLIDING if windowed and not turns else FULL for turns in turning(config, n_layers)]


def _in_turn(config: Mapping[str, Any], n_layers: int, windowed: bool) -> list[str]:
    """Return Gemma's and gpt-oss's: every second layer sees all, from Gemma 3 on every sixth."""
    every = size(config, "full_every")
    return [SLIDING if (layer + 1) % every else FULL for layer in range(n_layers)]


def _then_full(config: Mapping[str, Any], n_layers: int, windowed: bool) -> list[str]:
    """Return Gemma 4's: as in turn, but the last layer sees all in any case."""
    return [*_in_turn(config, n_layers, windowed)[:-1], FULL]


def _first_and_in_turn(config: Mapping[str, Any], n_layers: int, windowed: bool) -> list[str]:
    """Return MiMo's: a list of flags, or the first layer and every sixth sees all."""
    flags = size(config, "window_layers")
    if flags is None:
        return [FULL, *_in_turn(config, n_layers, windowed)[1:]]
    check_layers("hybrid_layer_pattern", flags, n_layers, (0, 1))
    return [SLIDING if flag else FULL for flag in flags]


_PATTERNS = {
    "behind": _behind, "unturned": _unturned, "in_turn": _in_turn, "in_turn_then_full": _then_full,
    "first_and_in_turn": _first_and_in_turn,
}  # fmt: skip


def turning(config: Mapping[str, Any], n_layers: int) -> list[bool]:
    """Return whether each layer turns its queries and keys: SmolLM3 leaves every fourth."""
    every, turned = size(config, "turned_every"), size(config, "turned_layers")
    if turned is None:  # 1 where they are turned
        turned = [not every or (layer + 1) % every != 0 for layer in range(n_layers)]
    check_layers("no_rope_layers", turned, n_layers, (0, 1))
    return [bool(turns) for turns in turned[:n_layers]]


def sparse_of(config: Mapping[str, Any], n_layers: int) -> list[bool]:
    """Return whether each layer has experts."""
    if size(config, "dense") == "first":
        dense = size(config, "n_dense_layers")
        if dense >= n_layers or not size(config, "n_experts"):
            return [False] * n_layers
        return [layer >= dense for layer in range(n_layers)]
    if size(config, "dense") == "flagged":
        flags = size(config, "sparse_layers")
        if flags is None:
            return [layer > 0 for layer in range(n_layers)]
        check_layers("moe_layer_freq", flags, n_layers, (0, 1))
        return [bool(flag) for flag in flags[:n_layers]]
    if size(config, "dense") == "named":
        kinds = size(config, "sparse_layers")
        if kinds is None:
            return [layer >= size(config, "n_dense_layers") for layer in range(n_layers)]
        check_layers("mlp_layer_types", kinds, n_layers, ("dense", "sparse"))
        return [kind == "sparse" for kind in kinds[:n_layers]]
    step, plain = size(config, "sparse_every"), size(config, "dense_layers")
    plain = [] if plain is None else plain
    if not isinstance(plain, list | tuple):
        raise ConfigError(f"mlp_only_layers must list numbers of layers, got {plain!r:.80}")
    for layer in plain:
        check_count("mlp_only_layers", layer, least=0)
    return [layer not in plain and (layer + 1) % step == 0 for layer in range(n_layers)]


def states_of(config: Mapping[str, Any], n_layers: int) -> list[bool]:
    """Return whether each layer keeps a state; where a file lists none, in what turn."""
    rule, stored = size(config, "states"), size(config, "n_layers")
    if rule in ("none", "everywhere"):
        return [rule == "everywhere"] * n_layers
    kinds = size(config, "layer_types")
    if kinds is None:
        every, listed = size(config, "full_every"), config.get("full_attn_layers")
        if rule == "after_each" and isinstance(listed, list | tuple):  # counted from 1
            full = [layer + 1 in listed for layer in range(stored)]
        elif rule == "behind_each":  # a state in every second layer, from the second on
            full = [layer % 2 == 0 for layer in range(stored)]
        else:
            first = every if rule == "after_each" else every - 1
            full = [layer >= first and (layer - first) % every == 0 for layer in range(stored)]
        kinds = [FULL if keeps else LINEAR for keeps in full]
        if rule == "in_turn_or_last" and FULL not in kinds:
            kinds[-1] = FULL
    check_layers("layer_types", kinds, n_layers, (FULL, LINEAR))
    return [kind == LINEAR for kind in kinds[:n_layers]]


def flattened(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a configuration with what Kimi Linear's released file has in a part of its own."""
    if config["model_type"] != "kimi_linear":
        return config
    given = mapping("linear_attn_config", config.get("linear_attn_config") or {})
    return {**config, **{ours: given[name] for name, ours in STATE_WORDS.items() if name in given}}


def state_dims_of(config: Mapping[str, Any]) -> tuple[int, int]:
    """Return the size of a key and of a value where there is a state.

    What a file leaves out follows from the width: OLMo Hybrid's values are twice as long as keys.
    """
    key, value = size(config, "linear_head_dim"), size(config, "linear_v_head_dim")
    if not key:
        share = int(0.75 * size(config, "d_model") / size(config, "linear_key_heads"))
        key = check_count("linear_key_head_dim", share)
    return key, value or 2 * key


def kv_heads_of(config: Mapping[str, Any]) -> int:
    """Return the key/value heads: a flag can say that all query heads share one."""
    rule, heads = size(config, "kv_heads"), size(config, "n_kv_heads")
    if rule == "given" or (rule == "falcon" and flag(config, "new_decoder_architecture", False)):
        return int(heads)
    return 1 if flag(config, "multi_query", True) else int(size(config, "n_heads"))


def spans_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return how many tokens leave an entry in each layer, and in those with an indexer."""
    if size(config, "spans") == "none":
        return {}
    kinds, rates = kinds_of(config), rates_of(config)
    if rates[SPARSE] == rates[HEAVY]:
        raise ConfigError(
            f"compress_rates must differ between {SPARSE} and {HEAVY}, got {rates[SPARSE]}"
        )
    return {"compress": rates[SPARSE], "spans": tuple(rates[kind] for kind in kinds)}


def full_sizes_of(config: Mapping[str, Any]) -> dict[str, int]:
    """Return sizes of the layers that see all, where they differ from those with a window."""
    heads = size(config, "full_n_kv_heads") if size(config, "full_heads_asked") else 0
    return {"full_head_dim": size(config, "full_head_dim"), "full_n_kv_heads": heads}


def norm_placement_of(config: Mapping[str, Any]) -> str:
    """Return where norms are; Falcon's first models have one before both blocks."""
    if size(config, "kv_heads") == "falcon":
        parallel = flag(config, "parallel_attn", True)
        return (
            "one" if parallel and not flag(config, "new_decoder_architecture", False) else "before"
        )
    return str(size(config, "norm_placement"))
