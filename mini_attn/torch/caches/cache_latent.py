"""The cache of latent attention: one small vector a token for all heads, and one rotated key."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from mini_attn.caching import Cached, Filled
from mini_attn.errors import ShapeError
from mini_attn.shapes import DType, check_count, named_shapes
from mini_attn.torch.caches.cache import KVCache

__all__ = ["LatentCache"]


class LatentCache(KVCache):
    """Normed latents and rotated keys of the tokens so far, of one layer.

    ``allocated_bytes = batch * capacity * (kv_lora_rank + qk_rope_head_dim) * dtype_bytes``

    Parameters
    ----------
    batch, kv_lora_rank, qk_rope_head_dim : int
        Sequences, size of a latent, size of the rotated key that all heads share.
    capacity : int
        Slots of each sequence; they are allocated at once and never moved.
    dtype : str or data type
        Data type or its name, as ``"float32"``.
    device : torch.device, str or None
        Where the tensors lie; None means PyTorch's default.

    Raises
    ------
    ConfigError
        If a size is below 1.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    Everything else is `KVCache` with one head: its key is the latent, its value the rotated
    key. Keys and values of the heads are made from the latent again, or not at all.

    References
    ----------
    deepseek2024v2, section 2.1.2

    Examples
    --------
    >>> import torch
    >>> cache = LatentCache(1, 4, 2, capacity=8)
    >>> latent, rope_key, kv_positions = cache.append(torch.ones(1, 3, 4), torch.ones(1, 3, 2))
    >>> latent.shape, kv_positions
    (torch.Size([1, 3, 4]), tensor([[0, 1, 2]]))
    """

    _shown = ("batch", "kv_lora_rank", "qk_rope_head_dim")

    def __init__(
        self,
        batch: int,
        kv_lora_rank: int,
        qk_rope_head_dim: int,
        capacity: int,
        *,
        dtype: DType = "float32",
        device: Any = None,
    ) -> None:
        self.kv_lora_rank = check_count("kv_lora_rank", kv_lora_rank)
        self.qk_rope_head_dim = check_count("qk_rope_head_dim", qk_rope_head_dim)
        super().__init__(
            batch,
            1,
            kv_lora_rank,
            capacity,
            v_head_dim=qk_rope_head_dim,
            dtype=dtype,
            device=device,
        )

    def append(
        self, k: Tensor, v: Tensor, *, positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Write new tokens behind the old ones.

        ``latent_all = concatenate(latent_past, latent)``

        Parameters
        ----------
        k : tensor (batch, q_len, kv_lora_rank)
            Latents of the new tokens, normed.
        v : tensor (batch, q_len, qk_rope_head_dim)
            Their shared keys, rotated.
        positions : integer tensor (q_len,) or (batch, q_len), or None
            Their positions, -1 for padding; None continues after each row's last position.

        Returns
        -------
        tuple of tensors (latent_all, rope_key_all, kv_positions)
            Views of all tokens so far: (batch, kv_len, kv_lora_rank), (batch, kv_len,
            qk_rope_head_dim), and their positions (batch, kv_len).

        Raises
        ------
        CacheOverflowError
            If the new tokens do not fit; nothing is written.
        ShapeError
            If a shape is wrong; nothing is written.
        DTypeError
            If a dtype is not the cache's; nothing is written.
        ConfigError
            If a position is below -1 or not after the row's last; nothing is written.

        Notes
        -----
        The arguments are called as in every cache: here the key is the latent.

        References
        ----------
        deepseek2024v2, section 2.1.3

        Examples
        --------
        >>> import torch
        >>> cache = LatentCache(1, 4, 2, capacity=8)
        >>> cache.append(torch.ones(1, 3, 4), torch.ones(1, 3, 2))[1].shape
        torch.Size([1, 3, 2])
        """
        for name, given, axis in (("k", k, "kv_lora_rank"), ("v", v, "qk_rope_head_dim")):
            sizes = named_shapes(Tensor, **{name: (given, f"batch q_len {axis}")})
            width = getattr(self, axis)
            if (sizes["batch"], sizes[axis]) != (self.batch, width):
                raise ShapeError(
                    f"{name} must be (batch, q_len, {axis}) = ({self.batch}, q_len, {width}), "
                    f"got {tuple(given.shape)}"
                )
        return super().append(k[:, None], v[:, None], positions=positions)

    def _cached(self, state: Filled) -> Cached:
        """Views of the filled slots, without the axis of heads."""
        k, v, *order = super()._cached(state)
        return Cached(k[:, 0], v[:, 0], *order)
