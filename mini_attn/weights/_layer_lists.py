"""What a published configuration says of its layers, one by one."""

from __future__ import annotations

from typing import Any

from mini_attn.errors import ConfigError

FULL, SLIDING = "full_attention", "sliding_attention"
LINEAR = "linear_attention"  # a state


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
