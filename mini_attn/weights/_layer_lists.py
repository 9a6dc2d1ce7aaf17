"""What a published configuration says of its layers, one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.errors import ConfigError
from mini_attn.weights._described import count, entry, flag

FULL, SLIDING = "full_attention", "sliding_attention"


def check_layers(name: str, given: Any, n_layers: int, known: tuple[Any, ...]) -> None:
    """Refuse what is no list of known things, one for each layer."""
    if not isinstance(given, list | tuple) or len(given) < n_layers:
        raise ConfigError(f"{name} must list {n_layers} layers or more, got {given!r:.80}")
    for thing in given:
        if thing not in known:
            raise ConfigError(f"{name} has {thing!r:.60}, which this package's decoder has not")


def layer_windows(kinds: Any, window: int | None, n_layers: int) -> list[int | None]:
    """The window of each layer, None where it sees all."""
    check_layers("layer_types", kinds, n_layers, (FULL, SLIDING))
    return [window if kind == SLIDING else None for kind in kinds[:n_layers]]


def check_window(kinds: Any, window: int | None) -> None:
    """Refuse layers that are said to have a window, where no width is given."""
    if window is None and isinstance(kinds, list | tuple) and SLIDING in kinds:
        raise ConfigError(
            f"layer_types has {SLIDING!r}, and sliding_window says no width or is not in use"
        )


def turning_layers(config: Mapping[str, Any], n_layers: int) -> list[bool]:
    """Whether each layer turns its queries and keys: SmolLM3 leaves every fourth as it is."""
    if config["model_type"] != "smollm3":
        return [True] * n_layers
    turned = entry(config, "no_rope_layers", None)  # 1 where they are turned
    if turned is None:
        every = count(config, "no_rope_layer_interval", 4) or 4
        turned = [(layer + 1) % every != 0 for layer in range(n_layers)]
    check_layers("no_rope_layers", turned, n_layers, (0, 1))
    return [bool(turns) for turns in turned[:n_layers]]


def windows_of(config: Mapping[str, Any], n_layers: int, turning: list[bool]) -> list[int | None]:
    """The window of each layer."""
    family = config["model_type"]
    window = count(config, "sliding_window", None if family in ("phi3", "smollm3") else 4096)
    may = family in ("qwen2", "qwen3", "smollm3")
    asked = may and flag(config, "use_sliding_window", False)
    kinds = entry(config, "layer_types", None)
    qwen = family.startswith("qwen")
    if qwen and not asked:
        window = None
    if may:
        check_window(kinds, window)
    if family == "smollm3" and kinds is None:  # windows where nothing turns
        windowed = asked and window is not None
        kinds = [SLIDING if windowed and not turns else FULL for turns in turning]
    elif family in ("llama", "olmo2"):
        return [None] * n_layers
    elif kinds is None or family in ("mistral", "phi3"):  # these two ignore what the layers say
        first = min(count(config, "max_window_layers", 28, least=0) or 0 if qwen else 0, n_layers)
        kinds = [FULL] * first + [SLIDING] * n_layers
    return layer_windows(kinds, window, n_layers)
