"""Attention in three branches: means of blocks, the blocks that these choose, and a window."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from mini_attn.config import NativeSparseConfig
from mini_attn.errors import ConfigError
from mini_attn.shapes import DType
from mini_attn.torch._module import kind_of, wide
from mini_attn.torch.attention._row_blocks import RowBlocks
from mini_attn.torch.caches.cache_nsa import NativeSparseCache
from mini_attn.torch.layers._branches import Branches
from mini_attn.torch.layers._heads import merge
from mini_attn.torch.layers._pass import Pass
from mini_attn.torch.layers.basic import Linear
from mini_attn.torch.layers.heads import GroupedQueryAttention

__all__ = ["NativeSparseAttention"]


class NativeSparseAttention(GroupedQueryAttention):
    """Attention to the means of all blocks, to the blocks that these choose, and to a window.

    ``out = merge_heads(sum over branches b of sigmoid(gate_proj(x))[b] * attention_b(q, k, v))
    @ o_proj``

    Parameters
    ----------
    config : NativeSparseConfig
        Sizes and options.
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
    Weights: as `GroupedQueryAttention`, and ``gate_proj`` (n_heads * 3, d_model): for each head
    a gate of the compressed, the selected and the window branch, in this order. Always causal.

    Compressed: the mean of a block's keys, as they were rotated, is one key, and that of its
    values one value; a query sees it if it sees every token of the block. Selected: what a
    block is worth to a key/value head is its weight in the first branch, summed over the query
    heads of the group; the ``n_blocks`` of most worth are read token by token, the query's own
    always and of equal ones the earlier. Window: the last ``window`` keys. A query that sees no
    complete block gets zeros from the first branch.

    Blocks are counted in a row's own tokens, padding left out. A lone token with a cache
    gathers the means, its blocks and its window and reads nothing else; of several each has
    blocks of its own, and the others are masked. With as many blocks as there are, the selected
    branch is `GroupedQueryAttention`.

    The paper differs: it has keys and values of its own for each branch, compresses spans that
    overlap (32 tokens, every 16) by a small network that knows the place within the span, maps
    their weights to blocks, and always reads the first block and two recent ones. Here, as in
    widely used code, the branches share keys and values and a span is a block. The choice has
    no gradient; the first branch has one.

    References
    ----------
    yuan2025nsa, sections 3.2 and 3.3

    Examples
    --------
    >>> import torch
    >>> sizes = {"block_size": 2, "n_blocks": 2, "window": 2}
    >>> config = NativeSparseConfig(d_model=8, n_heads=2, head_dim=4, **sizes)
    >>> NativeSparseAttention(config)(torch.ones(1, 5, 8)).shape
    torch.Size([1, 5, 8])
    """

    config: NativeSparseConfig

    def __init__(
        self,
        config: NativeSparseConfig,
        *,
        seed: int = 0,
        dtype: DType = "float32",
        device: Any = None,
    ) -> None:
        if not isinstance(config, NativeSparseConfig):
            raise ConfigError(f"config must be a NativeSparseConfig, got {config!r:.60}")
        kind: dict[str, Any] = {"dtype": dtype, "device": device}
        super().__init__(config, seed=seed, **kind)
        self.gate_proj = Linear(config.d_model, 3 * config.n_heads, seed=seed + 6, **kind)
        self._cache_sizes["block_size"] = config.block_size

    def new_cache(self, batch: int, capacity: int) -> NativeSparseCache:
        """An empty cache that fits this layer.

        ``allocated_bytes = batch * n_kv_heads * (capacity + capacity // block_size) *
        (head_dim + v_head_dim) * dtype_bytes``

        Parameters
        ----------
        batch, capacity : int
            Sequences, and slots of each.

        Returns
        -------
        NativeSparseCache
            In the dtype of the weights.

        Raises
        ------
        ConfigError
            If a number is below 1.
        """
        kind: dict[str, Any] = {**self._cache_sizes, **kind_of(self.q_proj.weight)}
        return NativeSparseCache(batch, capacity=capacity, **kind)

    def _run(self, x: Tensor, forward_pass: Pass, cache: Any) -> Tensor:
        """The layer without checks; what goes into the cache counts once the pass commits."""
        q, k, v = self._project_at(x, forward_pass.tables)
        size = self.config.block_size
        cached, gapless, keys = None, forward_pass.given is None, forward_pass.positions
        if cache is not None:
            cached = cache._append(k, v, forward_pass.given, forward_pass.transaction)
            k, v, keys, gapless = cached.k, cached.v, cached.positions, cached.last_sees_all
        blocks = RowBlocks(None if gapless else keys, k.shape[2], size, k.device)
        means = cached[2:4] if cached is not None else (blocks.means(k), blocks.means(v))
        whole, near = (
            forward_pass.visibility(q, k, cached, cache, window)
            for window in (None, self.config.window)
        )
        lone = cached is not None and q.shape[2] == 1
        branches = Branches(self.config, self._scale, (q, k, v), blocks, (whole, near))
        compressed, chosen = branches.compressed(means)
        parts = compressed, branches.selected(chosen, lone), branches.window(lone)
        return self.o_proj(merge(self._gated(x, parts)))

    def _cross(self, x: Tensor, context: Tensor, *others: Any) -> Tensor:
        """Refused: blocks and a window are of the tokens before a query."""
        raise ConfigError("context has no order: blocks and a window are of the tokens before")

    def _gated(self, x: Tensor, branches: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """The sum of the branches (batch, n_heads, q_len, v_head_dim), each by its gate."""
        gates = self.gate_proj(x).reshape(*x.shape[:2], self.config.n_heads, 3).transpose(1, 2)
        opened = wide(gates).sigmoid()
        compressed, selected, window = (
            opened[..., i, None] * branch for i, branch in enumerate(branches)
        )
        return (compressed + selected + window).to(branches[0].dtype)
