"""What the tests know of each variant of attention: sizes to try, and its plain form.

One module for each that the registry names, called as in the backends (``layers.nsa``: ``nsa``).
All tests by variant read it; nothing in them knows a variant by name.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mini_attn.variants import Variant


@dataclass(frozen=True)
class Form:
    """A layer in plain: weights, cache, and each way to compute it beside the layer's options."""

    weights: dict[str, Any]
    new_cache: Callable[[int, int], Any]
    ways: tuple[tuple[dict[str, Any], Callable[..., Any]], ...]
    # What the layer's cache holds besides and the plain form makes anew, from what it holds.
    derived: Callable[[list[Any]], list[Any]] = lambda arrays: []
    # All that the layer's cache shows after so many tokens, where slots are not those of tokens.
    shown: Callable[[Any, int], list[Any]] | None = None


def own_sizes() -> dict[str, Any]:
    """Return a value for each size that some variants alone have."""
    stems = [info.name for info in pkgutil.iter_modules(__path__)]
    modules = [importlib.import_module(f"tests.forms.{stem}") for stem in stems]
    return {name: value for module in modules for name, value in module.SIZES.items()}


def form_of(entry: Variant, config: Any, state: dict[str, Any]) -> Form:
    """Return the plain form of a variant's layer."""
    stem = entry.stem.rpartition(".")[2]
    assert any(info.name == stem for info in pkgutil.iter_modules(__path__)), (
        f"the variant {entry.name!r} has no plain form: write it in mini_attn/plain "
        f"and say in tests/forms/{stem}.py how a layer's weights get there"
    )
    found: Form = importlib.import_module(f"tests.forms.{stem}").form(config, state)
    return found


def small_config(entry: Variant, **options: Any) -> Any:
    """Return a small configuration of a variant."""
    heads = {"d_model": 8, "n_heads": 4, "n_kv_heads": 2}
    widths = dict.fromkeys(("head_dim", "v_head_dim", "qk_nope_head_dim"), 2)
    return entry.configure(heads | widths | own_sizes() | options)


def appended(entry: Variant, config: Any, tokens: int = 2, batch: int = 1) -> list[tuple[int, ...]]:
    """Return the shapes of what a layer appends to its cache."""
    if entry.length_rule == "state":  # what it has become, and the tail of its convolution
        channels = 2 * config.key_width + config.value_width
        matrices = (config.n_heads, config.head_dim, config.v_head_dim)
        return [(batch, *matrices), (batch, config.conv_kernel - 1, channels)]
    sizes = [([getattr(config, name) for name in field.factors], field.series)
             for field in entry.cache if not field.per]  # fmt: skip
    return [(batch, *(series * n for n in heads), tokens, width)
            for (*heads, width), series in sizes]  # fmt: skip
