"""Attention that reads the keys and values of an earlier layer."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from mini_attn.config import AttentionConfig
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.shapes import DType
from mini_attn.torch._module import check_tokens
from mini_attn.torch.layers._heads import split
from mini_attn.torch.layers._pass import Kept, begin_pass, working_dtype
from mini_attn.torch.layers.heads import GroupedQueryAttention
from mini_attn.torch.positions.rope import rotate

__all__ = ["CrossLayerAttention"]


def check_read(name: str, given: Any, expected: tuple[int, ...], x: Tensor) -> None:
    """Refuse keys or values that don't fit the tokens that read them."""
    if tuple(getattr(given, "shape", ())) != expected:
        raise ShapeError(
            f"{name} must be (batch, n_kv_heads, q_len, dim) = {expected}, "
            f"got {getattr(given, 'shape', given)!s:.60}"
        )
    if given.dtype != working_dtype(x):
        raise DTypeError(f"{name} must be {working_dtype(x)} as the tokens are, got {given.dtype}")


class CrossLayerAttention(GroupedQueryAttention):
    """Attention whose keys and values are those of an earlier layer.

    ``out = merge_heads(attention(q_proj(x), k, v)) @ o_proj``

    Parameters
    ----------
    config : AttentionConfig
        Sizes and options; ``n_kv_heads``, ``head_dim``, ``v_head_dim`` and ``rope`` are those of
        the layer that makes the keys and values.
    seed : int
        Seeds the weights: two layers of the same sizes and seed begin with equal weights.
    dtype : str or data type
        Data type or its name, as ``"float32"``.
    device : torch.device, str or None
        Where the tensors lie; None means PyTorch's default.

    Raises
    ------
    ConfigError
        If the configuration is of another kind.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    Weights: ``q_proj`` and ``o_proj``, with ``qk_norm`` also ``q_norm``, with ``sinks`` also
    ``sinks``. It has no key and value projections and no cache. Within a `Decoder` it reads what
    its source keeps (``DecoderConfig.kv_sources``), which was normalized and rotated there; its
    own queries are normalized and rotated here.

    References
    ----------
    brandon2024cla, section 2
    sun2024yoco, section 2

    Examples
    --------
    >>> import torch
    >>> config = AttentionConfig(d_model=8, n_heads=4, head_dim=2, n_kv_heads=2)
    >>> x, kv = torch.ones(1, 3, 8), torch.ones(1, 2, 3, 2)
    >>> CrossLayerAttention(config)(x, k=kv, v=kv).shape
    torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        config: AttentionConfig,
        *,
        seed: int = 0,
        dtype: DType = "float32",
        device: Any = None,
    ) -> None:
        super().__init__(config, seed=seed, dtype=dtype, device=device)
        del self.k_proj, self.v_proj
        if config.qk_norm:
            del self.k_norm

    def new_cache(self, batch: int, capacity: int) -> Any:
        """Refuse: the layer keeps nothing.

        ``allocated_bytes = 0``

        Parameters
        ----------
        batch, capacity : int
            Sequences, and slots of each.

        Returns
        -------
        None
            Never.

        Raises
        ------
        ConfigError
            Always.
        """
        raise ConfigError(
            "this layer reads an earlier layer's keys and values and has no cache: "
            "Decoder.new_caches makes one for each layer that keeps its own"
        )

    def forward(  # type: ignore[override]
        self, x: Tensor, *, k: Tensor, v: Tensor, positions: Tensor | None = None
    ) -> Tensor:
        """Let each token gather from another layer's keys and values, causally.

        ``out = merge_heads(attention(q_proj(x), k, v)) @ o_proj``

        Parameters
        ----------
        x : tensor (batch, q_len, d_model)
            Tokens.
        k : tensor (batch, n_kv_heads, q_len, head_dim)
            Keys of the same tokens in the layer that makes them, rotated there.
        v : tensor (batch, n_kv_heads, q_len, v_head_dim)
            Their values.
        positions : integer tensor (q_len,) or (batch, q_len), or None
            Positions of the tokens, -1 for padding; None counts from 0.

        Returns
        -------
        tensor (batch, q_len, d_model)
            Gathered tokens.

        Raises
        ------
        ShapeError
            If a shape is wrong.
        DTypeError
            If a dtype is not the weights'.
        ConfigError
            If a position is out of range.
        """
        check_tokens("x", x, self.q_proj.weight)
        for name, given, width in (("k", k, "head_dim"), ("v", v, "v_head_dim")):
            expected = (len(x), self.config.n_kv_heads, x.shape[1], getattr(self.config, width))
            check_read(name, given, expected, x)
        return self._run(x, begin_pass(x, None, positions), Kept(k, v, None, None))

    _checked_call = forward

    def _project_at(self, x: Tensor, tables: Any) -> tuple[Tensor, Any, Any]:
        """Queries alone, rotated by the tables of the tokens' positions."""
        q = self.q_proj(x)
        if self.config.qk_norm and self.config.qk_norm_over == "width":
            q = self.q_norm(q)
        q = split(q, self.config.n_heads)  # (batch, n_heads, q_len, head_dim)
        if self.config.qk_norm and self.config.qk_norm_over == "head":
            q = self.q_norm(q)
        if self._rotary is not None:
            cos, sin = tables(self._rotary, q.dtype)
            (q,) = rotate(cos, sin, self._rotary.layout, q)
        return q, None, None

    def project(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Refuse: the layer projects no keys and values.

        ``q = q_proj(x)``

        Parameters
        ----------
        x, context : tensor (batch, seq, d_model)
            Tokens that ask and that answer.

        Returns
        -------
        tuple of tensors
            Never.

        Raises
        ------
        ConfigError
            Always.
        """
        raise ConfigError("this layer reads an earlier layer's keys and values and projects none")
