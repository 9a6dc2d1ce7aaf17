"""One forward pass: what its layers share is made once and handed down."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.modules import module as _everywhere

from mini_attn.caching import Transaction
from mini_attn.caching.validation import check_is_cache, joined
from mini_attn.errors import ConfigError, ShapeError
from mini_attn.shapes import check_flag
from mini_attn.torch._module import check_positions
from mini_attn.torch.attention._visibility import Visibility, fit_mask
from mini_attn.torch.attention.mask import compare_positions, same_chunk
from mini_attn.torch.positions._rotary import Rotary

Tables = tuple[Tensor, Tensor]
_NOTHING_TO_DO = Transaction()  # of a pass without caches


class Kept(NamedTuple):
    """Keys and values that a layer has made or read from its cache, for layers that read them."""

    k: Tensor  # (batch, n_kv_heads, kv_len, head_dim)
    v: Tensor  # (batch, n_kv_heads, kv_len, v_head_dim)
    cached: Any  # what the cache has staged, None without one
    cache: Any


class Pass:
    """The positions of the new tokens, and what follows from them for every layer alike.

    A public call makes one after its checks and commits its transaction at the end: until then
    no cache has changed, whatever happens.
    """

    def __init__(
        self,
        q_len: int,
        device: torch.device,
        cache: Any,
        transaction: Transaction,
        given: Tensor | None,
        *,
        causal: bool = True,
        mask: Tensor | None = None,
    ) -> None:
        self.given, self.transaction = given, transaction
        self.causal, self.mask = causal, mask
        if given is not None:
            self.positions = given  # (q_len,) or (batch, q_len)
        elif cache is None:
            self.positions = torch.arange(q_len, device=device)
        else:  # the first layer's cache speaks for all: they are filled alike
            self.positions = cache._next_positions(q_len, transaction)
        self._tables: dict[Any, Tables] = {}
        self._visibilities: list[tuple[Any, Tensor | None, Visibility]] = []
        self.latest: Kept | None = None  # of the attention that ran last
        self.kept: dict[int, Kept] = {}  # by layer, for those that read another's
        self.inputs: Any = None  # (batch, q_len, n_layers, per_layer_dim), where layers have any

    def tables(self, rotary: Rotary, dtype: torch.dtype) -> Tables:
        """Cosines and sines at the new positions, once for all layers with the same rule."""
        rule = (rotary.rule, dtype)
        if rule not in self._tables:
            self._tables[rule] = rotary.tables(self.positions, dtype)
        return self._tables[rule]

    def hand_on(self, layer: int) -> None:
        """Let later layers read what the attention that ran last has kept."""
        if self.latest is None:  # a class from outside
            raise ConfigError(
                f"layer {layer} is read by a later one, so the decoder must run its attention "
                "itself: it is a class from outside"
            )
        self.kept[layer] = self.latest

    def visibility(
        self,
        q: Tensor,
        k: Tensor,
        cached: Any,
        cache: Any,
        window: Any,
        sink_tokens: int = 0,
        chunked: bool = False,
    ) -> Visibility:
        """Return the visibility, made once for all layers for which it is the same.

        ``cached`` is what the cache has staged; without a cache the new tokens stand for both.
        """
        q_len, kv_len, kv_positions = q.shape[2], k.shape[2], self.given
        causal = self.causal
        if cached is not None:
            kv_positions = None if cached.counted else cached.positions
            lone = causal and q_len == 1 and cached.last_sees_all and not chunked
            kept = getattr(cache, "window", None), getattr(cache, "sink_tokens", 0)
            if lone and (window is None or (window, sink_tokens) == kept):
                kv_positions = window = None  # the newest token sees every key it is given
                causal, sink_tokens = False, 0
        if kv_positions is not None and kv_positions.ndim == 3:
            return _by_head(self, q, kv_positions, (causal, window, sink_tokens), chunked)
        ranks = getattr(cache, "ranks", None)  # where others hold keys of the same tokens
        rule = (kv_len, causal, window, sink_tokens, chunked)
        full = {"batch": q.shape[0], "n_heads": q.shape[1], "q_len": q_len, "kv_len": kv_len}
        for known, at, visibility in self._visibilities:
            if known == rule and visibility.ranks is ranks and _alike(at, kv_positions):
                return visibility
        mask = None if self.mask is None else fit_mask(self.mask, full)
        if chunked:
            mask = self._in_chunk(mask, kv_len, kv_positions, window)
        visibility = Visibility(
            q_len,
            kv_len,
            q.device,
            causal=causal,
            window=window,
            sink_tokens=sink_tokens,
            q_positions=None if kv_positions is None else self.positions,
            kv_positions=kv_positions,
            mask=mask,
            ranks=ranks,
        )
        self._visibilities.append((rule, kv_positions, visibility))
        return visibility

    def _in_chunk(
        self, given: Tensor | None, kv_len: int, keys: Tensor | None, chunk: int
    ) -> Tensor:
        """Return what hides the keys of other chunks, and those that a given mask hides."""
        if keys is None:
            keys = torch.arange(kv_len, device=self.positions.device)
        queries, keys = (_rows(positions) for positions in (self.positions, keys))
        near = same_chunk(queries, keys, chunk)  # (1 or batch, 1, q_len, kv_len)
        return near if given is None else given & near


def _rows(positions: Tensor) -> Tensor:
    """Positions (seq,) or (batch, seq) as (1 or batch, 1, seq)."""
    return positions.reshape(-1, 1, positions.shape[-1])


def _by_head(
    forward_pass: Pass, q: Tensor, kv_positions: Tensor, rule: Any, chunked: bool
) -> Visibility:
    """Return the visibility where each key/value head holds its own keys."""
    keys = kv_positions.repeat_interleave(q.shape[1] // kv_positions.shape[1], dim=1)
    queries = forward_pass.positions.reshape(-1, 1, q.shape[2])  # (1 or batch, 1, q_len)
    mask = compare_positions(queries, keys, *rule)
    if chunked:
        mask = mask & same_chunk(queries, keys, rule[1])
    q_len, kv_len = mask.shape[2:]
    if forward_pass.mask is not None:
        full = {"batch": q.shape[0], "n_heads": q.shape[1], "q_len": q_len, "kv_len": kv_len}
        mask = mask & fit_mask(forward_pass.mask, full)
    return Visibility(q_len, kv_len, q.device, mask=mask)


def _alike(a: Tensor | None, b: Tensor | None) -> bool:
    """Return whether two layers' keys lie at the same positions, where asking costs nothing."""
    if a is None or b is None or a is b:
        return a is b
    return a.device.type == b.device.type == "cpu" and torch.equal(a, b)


def begin_pass(
    x: Tensor,
    cache: Any,
    positions: Tensor | None,
    *,
    causal: Any = True,
    mask: Tensor | None = None,
    outer: Pass | None = None,
) -> Pass:
    """The pass of a layer's public call, after the checks that all layers share.

    ``outer`` is a decoder's pass that made the call, if one did.
    """
    if causal is not True and causal is not False:
        check_flag("causal", causal)
    if positions is not None:
        check_new_positions(positions, x.shape[:2])
    transaction = _NOTHING_TO_DO
    if cache is not None:
        if not hasattr(cache, "next_positions"):
            check_is_cache("cache", cache)
        if not x.shape[1]:
            raise ShapeError(f"a cache takes at least one token, got x of shape {tuple(x.shape)}")
        transaction = Transaction()
    begun = Pass(x.shape[1], x.device, cache, transaction, positions, causal=causal, mask=mask)
    if outer is not None:
        begun.kept, begun.inputs = outer.kept, outer.inputs
    return begun


def working_dtype(x: Tensor) -> torch.dtype:
    """The type in which a layer makes keys and values of such an input."""
    device = x.device.type
    autocast = torch.is_autocast_enabled(device)
    return torch.get_autocast_dtype(device) if autocast else x.dtype


def check_new_positions(positions: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse positions that do not fit tokens (batch, seq)."""
    check_positions("positions", positions)
    if positions.shape not in (shape, shape[1:]):
        raise ShapeError(
            f"positions must be (seq,) = {tuple(shape[1:])} or (batch, seq) = {tuple(shape)}, "
            f"got shape {tuple(positions.shape)}"
        )


def run_layer(layer: Any, x: Tensor, forward_pass: Pass, cache: Any) -> Tensor:
    """A layer within a pass: its bare form, or the public call where that does more."""
    if unwrapped(layer):
        out: Tensor = layer._run(x, forward_pass, cache)
        return out
    inside = joined(cache, forward_pass.transaction)
    reads = getattr(layer, "_reads", False)  # and has no cache that would know the positions
    given = forward_pass.positions if reads else forward_pass.given
    if not hasattr(layer, "_outer"):
        return layer(x, cache=inside, positions=given)
    layer._outer = forward_pass
    try:
        return layer(x, cache=inside, positions=given)
    finally:
        layer._outer = None


def unwrapped(layer: Any) -> bool:
    """Return whether calling the module is this package's `forward` and nothing besides.

    A class from outside has its own; a module may be wrapped, patched or watched by hooks.
    """
    kind = type(layer)
    if getattr(kind, "_checked_call", None) is not kind.forward or "forward" in layer.__dict__:
        return False
    own = layer._forward_hooks or layer._forward_pre_hooks
    own = own or layer._backward_hooks or layer._backward_pre_hooks
    everywhere = _everywhere._global_forward_hooks or _everywhere._global_forward_pre_hooks
    backward = _everywhere._global_backward_hooks or _everywhere._global_backward_pre_hooks
    return not (own or everywhere or backward)
