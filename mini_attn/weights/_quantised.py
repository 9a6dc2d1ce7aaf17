"""Weights that are codes and scales: this package reads numbers, and says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.errors import ConfigError

# Ends of names, as GPTQ and AWQ, bitsandbytes, compressed-tensors, DeepSeek's FP8 and gpt-oss's
# MXFP4 give them.
ENDS = (
    "qweight", "qzeros", ".scales", ".g_idx",
    ".absmax", ".quant_map", ".nested_absmax", ".SCB", ".weight_format",
    "weight_packed", "weight_scale", "weight_zero_point", ".input_scale",
    "weight_scale_inv", "_proj_blocks", "_proj_scales",
)  # fmt: skip


def refuse_quantised_config(described: Mapping[str, Any]) -> None:
    """Refuse a configuration that says how its weights were quantized."""
    how = described.get("quantization_config")
    if not how:
        return
    method = how.get("quant_method") if isinstance(how, Mapping) else how
    raise ConfigError(
        f"the weights are quantized (quantization_config, method {method!r:.40}): convert them to "
        "floating point first, and leave quantization_config out"
    )


def refuse_quantised(state: Mapping[str, Any]) -> None:
    """Refuse weights whose names or types are those of codes."""
    for name, weight in state.items():
        kind = str(getattr(weight, "dtype", "")).removeprefix("torch.")
        small = kind.startswith("float8") or kind in ("int8", "uint8")
        codes = small and name.endswith(".weight")
        if codes or name.endswith(ENDS) or ".quant_state." in name:
            raise ConfigError(
                f"{name} ({kind}): the weights are quantized; convert them to floating point "
                "first, FP8 of DeepSeek and MXFP4 of gpt-oss by mini_attn.weights.dequantised"
            )
