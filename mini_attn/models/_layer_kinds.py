"""In what the layers of a model differ: what they see, what they keep, and their sizes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from mini_attn.config import LinearAttentionConfig
from mini_attn.config.decoder import last_alike
from mini_attn.config.linear import lightning_decay
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count, check_heads
from mini_attn.variants import variant

# Biases into and out of a layer, as a model's "biases" says them.
_BIASES = {(False, False): "none", (True, False): "qkv", (True, True): "attention"}


class LayerKinds:
    """What a model's layers see and keep, from its sizes."""

    attention: str
    window: int | None
    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_ff: int
    full_every: int
    full_layers: tuple[int, ...]
    full_head_dim: int
    full_n_kv_heads: int
    n_kv_shared_layers: int
    k_eq_v: bool
    wide_readers: bool
    window_sinks: bool
    spans: tuple[int, ...]
    compress: int
    linear: LinearAttentionConfig | None
    d_model: int

    def _check_kinds(self) -> None:
        """Refuse layers of two sizes or that share where there is nothing to differ or to read."""
        self._check_spans()
        self._check_linear()
        own = {name: getattr(self, name) for name in ("full_head_dim", "full_n_kv_heads")}
        if any(own.values()):
            if self.window is None or variant(self.attention).length_rule != "window":
                raise ConfigError(f"{self.attention} has layers of one kind, got {own}")
            check_heads(self.n_heads, self.full_n_kv_heads or self.n_kv_heads)
        shared = self.n_kv_shared_layers
        if not shared:
            return
        if not variant(self.attention).shares_layers:
            raise ConfigError(f"layers share keys and values of heads, got {self.attention}")
        sources = enumerate(self._sources())
        lacking = {self.window_of(layer) for layer, source in sources if source is None}
        if lacking:
            raise ConfigError(
                f"the last {shared} of {self.n_layers} layers read others, and no layer before "
                f"them sees {' or '.join(str(each or 'all') for each in lacking)} keys"
            )

    def _check_linear(self) -> None:
        """Refuse layers with a state that don't fit the others, or that would share a cache."""
        if self.linear is None:
            return
        if not isinstance(self.linear, LinearAttentionConfig):
            raise ConfigError(f"linear must be a LinearAttentionConfig, got {self.linear!r:.60}")
        if self.linear.d_model != self.d_model:
            raise ConfigError(
                f"all layers need one d_model, got {self.d_model} and {self.linear.d_model} where "
                "there is a state"
            )
        if self.spans or self.n_kv_shared_layers:
            raise ConfigError(
                "beside layers with a state no layer here has spans or reads another's cache, got "
                f"spans = {self.spans!r:.40} and n_kv_shared_layers = {self.n_kv_shared_layers}"
            )
        if (self.linear.bias, self.linear.out_bias) not in _BIASES:
            raise ConfigError("a layer with a state has out_bias only where it has bias")

    def _check_spans(self) -> None:
        """Refuse spans by layer where a layer has none, or of which no entry can be."""
        if not self.spans:
            return
        if self.attention != "csa" or len(self.spans) != self.n_layers:
            raise ConfigError(
                f"spans say of each of {self.n_layers} csa layers how many tokens leave an entry, "
                f"got {len(self.spans)} of {self.attention}"
            )
        for span in self.spans:
            check_count("spans", span, least=0)

    @property
    def n_full_layers(self) -> int:
        """Layers whose cache grows with the text: by each token, or by an entry for several."""
        if self.linear is not None:
            growing = self.window is None and variant(self.attention).length_rule != "state"
            return growing * sum(self.linear_of(i) is None for i in range(self.n_layers))
        if self.window is None or variant(self.attention).length_rule == "all":
            return sum(self._entries(layer)[1] > 0 for layer in range(self.n_layers))
        if self.full_layers:
            return len(self.full_layers)
        return self.n_layers // self.full_every if self.full_every else 0

    @property
    def shrinks(self) -> tuple[str, ...]:
        """Factors of the cache that are smaller than with multi-head attention of its heads.

        Layers with a state are no layers that keep a cache: it doesn't grow. The fourth factor,
        bits per value, is up to who runs the model.

        Examples
        --------
        >>> from mini_attn.models import MODELS
        >>> MODELS["gpt2"].shrinks, MODELS["gemma-3-4b"].shrinks
        ((), ('entries', 'values'))
        >>> MODELS["qwen3-next-80b-a3b"].shrinks
        ('layers', 'values')
        """
        keeping = [i for i in range(self.n_layers) if self.linear_of(i) is None]
        smaller = {
            "layers": self.n_kv_shared_layers > 0 or self.linear is not None,
            "entries": any(map(self._keeps_fewer_entries, keeping)),
            "values": any(map(self._keeps_fewer_values, keeping)),
        }
        return tuple(factor for factor, is_smaller in smaller.items() if is_smaller)

    def _keeps_fewer_entries(self, layer: int) -> bool:
        """Return whether a layer has a window, or an entry for several tokens."""
        _, span = self._entries(layer)
        return self.window_of(layer) is not None or span != 1

    def _keeps_fewer_values(self, layer: int) -> bool:
        """Return whether an entry has less in a layer than keys and values of all its heads."""
        sizes, span = self._entries(layer)
        fields = [each for each in variant(sizes.attention).cache if not span or each.grows]
        kept = sum(
            Fraction(each.numbers(sizes), each.tokens(sizes)) * max(1, span) for each in fields
        )
        return kept < sizes.n_heads * (sizes.head_dim + sizes.v_head_dim)

    def _entries(self, layer: int) -> tuple[Any, int]:
        """Sizes of a layer, and tokens that its smallest entry stands for; 0 where none stays."""
        model: Any = self
        sizes = SimpleNamespace(**model.named_sizes | self.kind_sizes(layer))
        stay = [each for each in variant(sizes.attention).cache if each.grows]
        return sizes, min((each.tokens(sizes) for each in stay), default=0)

    def window_of(self, layer: int) -> int | None:
        """Last keys that a layer keeps, layers counted from 0; None where it keeps all."""
        every = variant(self.attention).length_rule == "all"
        if self.linear is not None:
            return None if every or self.linear_of(layer) else self.window
        if every or self._is_full(layer):
            return None
        return self.window

    def _is_full(self, layer: int) -> bool:
        """Return whether a layer is one of those that keep all."""
        in_turn = self.full_every > 0 and (layer + 1) % self.full_every == 0
        return in_turn or layer in self.full_layers

    def linear_of(self, layer: int) -> LinearAttentionConfig | None:
        """Return what a layer with a state is made of; None where there are keys and values.

        The later a layer with a constant decay is, the less it forgets.
        """
        if self.linear is None or self._is_full(layer):
            return None
        if self.linear.rule.decay != "constant":
            return self.linear
        decay = lightning_decay(self.linear.n_heads, layer, self.n_layers)
        return replace(self.linear, decay=decay)

    def attention_of(self, layer: int) -> str:
        """Name of a layer's variant: that of a state, or that which goes with a layer's span."""
        if (state := self.linear_of(layer)) is not None:
            return state.variant
        span = self.spans[layer] if self.spans else self.compress
        if span == self.compress:
            return self.attention
        return "hca" if span else "shared_window"

    def source_of(self, layer: int) -> int:
        """The layer whose keys and values a layer reads: itself, or the last that sees as far."""
        source = self._sources()[layer]
        assert source is not None, "checked when the model was made"
        return source

    def _sources(self) -> tuple[int | None, ...]:
        """For each layer the one whose keys and values it reads; None where there is none."""
        windows = [self.window_of(layer) for layer in range(self.n_layers)]
        return last_alike(windows, self.n_layers - self.n_kv_shared_layers)

    def d_ff_of(self, layer: int) -> int:
        """Return the width of a layer's MLP."""
        return self.d_ff * (2 if self.wide_readers and self._is_reader(layer) else 1)

    def _is_reader(self, layer: int) -> bool:
        """Return whether a layer reads another's keys and values."""
        return layer >= self.n_layers - self.n_kv_shared_layers

    @property
    def reads_kv(self) -> bool:
        """Return False, as a whole model reads no other layer's keys and values."""
        return False

    def kind_sizes(self, layer: int) -> dict[str, Any]:
        """Sizes of a layer that differ from the model's own, and whether it reads another's."""
        if (state := self.linear_of(layer)) is not None:
            return self._state_sizes(state)
        if self.window is None or self.window_of(layer) is not None:
            sizes: dict[str, Any] = {"k_eq_v": self.k_eq_v and self.window is None}
        else:
            sizes = {"k_eq_v": self.k_eq_v}
            if self.full_head_dim:
                sizes |= dict.fromkeys(("head_dim", "v_head_dim"), self.full_head_dim)
            if self.full_n_kv_heads:
                sizes["n_kv_heads"] = self.full_n_kv_heads
        if self.window_sinks and self.window_of(layer) is None:
            sizes["sinks"] = False
        if self.spans:
            sizes |= {"attention": self.attention_of(layer), "compress": self.spans[layer]}
            if sizes["attention"] != self.attention:
                sizes |= dict.fromkeys(("index_n_heads", "index_head_dim", "index_topk"), 0)
        return sizes | {"reads_kv": self._is_reader(layer)}

    def _state_sizes(self, state: LinearAttentionConfig) -> dict[str, Any]:
        """Sizes of a layer with a state: its own, and none of what belongs to keys and values."""
        names = ("n_heads", "head_dim", "v_head_dim", "n_key_heads", "conv_kernel")
        without = dict.fromkeys(("sinks", "k_eq_v", "v_norm", "out_gate", "reads_kv"), False)
        return {
            **{name: getattr(state, name) for name in names},
            **without,
            "attention": state.variant,
            "n_kv_heads": state.n_heads,
            "qk_norm": "none",
            "biases": _BIASES[state.bias, state.out_bias],
        }
