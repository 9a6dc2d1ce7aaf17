"""The decode step as one compiled graph. PyTorch only: NumPy has nothing to compile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
import torch.nn.functional as F
from torch import Tensor

from mini_attn.caching import Transaction
from mini_attn.caching.validation import check_cache
from mini_attn.config import DecoderConfig
from mini_attn.errors import CacheOverflowError, ConfigError, ShapeError
from mini_attn.shapes import check_count, named_shapes
from mini_attn.torch.caches.cache import KVCache
from mini_attn.torch.caches.cache_latent import LatentCache
from mini_attn.torch.layers.decoder import Decoder
from mini_attn.torch.positions.position import sinusoids

__all__ = ["compile_decode_step"]

Step = Callable[[Decoder, Tensor, Sequence[Any]], Tensor]


def _run(
    model: Any,
    token: Tensor,
    positions: Tensor,
    slot: Tensor,
    kv_positions: Tensor,
    held: list[tuple[Tensor, Tensor]],
) -> Tensor:
    """One token through all layers. Reads positions as numbers only, never to decide anything."""
    config = model.config
    x = model._embed_tokens(token)
    if config.positions == "learned":
        x = x + F.embedding(positions, model.embed_positions.weight)
    elif config.positions == "sinusoidal":
        x = x + sinusoids(positions, config.d_model, x.dtype)
    inputs = model.per_layer_inputs._run(token, x) if config.per_layer_dim else None
    keeping = config.keeping_layers
    for layer, source in zip(model.layers, config.sources, strict=True):
        arrays = held[keeping.index(source)]
        norms, normed = layer._norms, layer._norm
        y = normed(norms.before_attention, x)
        x = y if layer._on_stream else x
        y = layer.self_attn._static_step(y, positions, slot, arrays, kv_positions)
        y = normed(norms.after_attention, y)
        x = x + y if layer._scales is None else layer._added(x, y, 0)
        if hasattr(layer, "mlp"):
            mlp = getattr(layer.mlp, "_static_step", layer.mlp)  # experts are not asked for there
            y = normed(norms.before_mlp, x)
            x = y if layer._on_stream else x
            y = normed(norms.after_mlp, mlp(y))
            x = x + y if layer._scales is None else layer._added(x, y, 2)
        if layer._ends_otherwise:
            x = layer._finish(x, inputs)
    return model._logits(x)[:, 0]


def _arrays(cache: Any, slots: int) -> tuple[Tensor, Tensor]:
    """The cache's two arrays up to a number of slots."""
    k, v = cache._state.arrays
    if isinstance(cache, LatentCache):
        return k[:, 0, :slots], v[:, 0, :slots]
    return k[:, :, :slots], v[:, :, :slots]


def _check(model: Decoder, token: Tensor, caches: Sequence[Any]) -> None:
    """Everything that the graph does not check."""
    if named_shapes(token=(token, "batch seq"))["seq"] != 1:
        raise ShapeError(f"token must be (batch, 1), got shape {tuple(token.shape)}")
    keeping = model._keeping
    if len(caches) != len(keeping):
        raise ConfigError(f"{len(keeping)} layers need as many caches, got {len(caches)}")
    for layer, cache in zip(keeping, caches, strict=True):
        if type(cache) not in (KVCache, LatentCache):
            raise ConfigError(
                "a compiled step writes into a KVCache or a LatentCache, whose slots stay where "
                f"they are, got {type(cache).__name__}"
            )
        if cache.slots != caches[0].slots or cache.batch != len(token):
            raise ConfigError(
                f"caches must hold {caches[0].slots} slots of {len(token)} sequences each, "
                f"got {cache.slots} of {cache.batch}"
            )
        check_cache(cache, layer.self_attn, len(token), cache._dtype)
        if cache.slots == cache.capacity:
            raise CacheOverflowError(f"no room for a token: all {cache.capacity} slots are used")


def _check_place(config: DecoderConfig, cache: Any, positions: Tensor) -> None:
    """Refuse a position that the decoder does not have; without gaps the host knows it."""
    if config.positions == "none":
        return
    last = cache.slots if cache.contiguous else int(positions.max())
    if last >= config.max_positions:
        raise ConfigError(f"position {last} exceeds max_positions {config.max_positions}")


def compile_decode_step(*, block: int | None = None, **options: Any) -> Step:
    """A `decode_step` that runs as one graph.

    ``logits = model(token)[:, 0]``

    Parameters
    ----------
    block : int or None
        The graph reads the cache up to the next multiple of this many slots; None reads all.
    **options
        For `torch.compile`, for example ``mode="reduce-overhead"``.

    Returns
    -------
    callable (model, token, caches) -> array (batch, vocab_size)
        Takes and gives what `decode_step` does; pass it to `generate` as ``step``.

    Raises
    ------
    ConfigError
        If ``block`` is below 1; when called, if caches are of a kind whose slots move.

    Notes
    -----
    The number of slots is a host integer, checked before the graph starts; the graph gets
    positions as a tensor, masks what lies behind them, and is unchecked: a token out of range
    is an error of the device. The host reads back the positions of padded rows where they are
    embedded, else no value. Without a ``block`` all shapes are fixed and it is compiled once,
    as CUDA graphs want it. With one it is compiled again with a symbolic length at the second
    multiple, and a third time should the cache become full, as a whole array lies differently
    in memory than a part of one.

    References
    ----------
    ansel2024pytorch2, section 3

    Examples
    --------
    >>> import torch
    >>> from mini_attn.config import AttentionConfig, DecoderConfig
    >>> from mini_attn.torch import Decoder
    >>> attention = AttentionConfig(d_model=8, n_heads=2, head_dim=4)
    >>> model = Decoder(DecoderConfig(16, 1, attention, d_ff=32, max_positions=8))
    >>> step = compile_decode_step(backend="eager")
    >>> step(model, torch.tensor([[3]]), model.new_caches(1, 8)).shape
    torch.Size([1, 16])
    """
    if block is not None:
        check_count("block", block)
    compiled = torch.compile(_run, fullgraph=True, **options)
    # Whole arrays keep their address, which a CUDA graph that writes into them asks for.
    whole: WeakKeyDictionary[Any, tuple[Any, tuple[Tensor, Tensor]]] = WeakKeyDictionary()

    def arrays(cache: Any, slots: int) -> tuple[Tensor, Tensor]:
        if block is not None:
            return _arrays(cache, slots)
        own = cache._state.arrays
        if cache not in whole or whole[cache][0] is not own:  # reordered: they lie elsewhere
            whole[cache] = own, _arrays(cache, slots)
            for array in whole[cache][1]:
                torch._dynamo.mark_static_address(array)
        return whole[cache][1]

    @torch.no_grad()
    def step(model: Decoder, token: Tensor, caches: Sequence[Any]) -> Tensor:
        """One more token of each row, through the compiled graph."""
        _check(model, token, caches)
        positions = caches[0].next_positions(1).expand(len(token), 1)
        last = int(caches[0].slots)
        _check_place(model.config, caches[0], positions)
        slot = torch.full((1,), last, device=token.device)
        read = min(cache.capacity for cache in caches)
        if block is not None:
            read = min(read, (last // block + 1) * block)
        held = [arrays(cache, read) for cache in caches]
        transaction = Transaction()  # the graph writes into free slots: undone until committed
        for cache in caches:
            cache._clear_free()
            cache._stage(cache._advance(cache._state, None, 1, transaction), transaction)
            cache._written = last + 1
        kv_positions = caches[0]._all_positions(read, transaction)
        logits: Tensor = compiled(model, token.contiguous(), positions, slot, kv_positions, held)
        transaction.commit()
        return logits

    return step
