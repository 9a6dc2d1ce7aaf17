"""What makes entries of tokens: values, gates and a norm, for a layer and for its indexer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import CompressedConfig, RopeConfig
from mini_attn.numpy._module import Module, dtype_of
from mini_attn.numpy.layers._heads import split
from mini_attn.numpy.layers._pass import Pass
from mini_attn.numpy.layers.basic import Linear, Norm
from mini_attn.numpy.layers.indexed import indexer_scores
from mini_attn.numpy.positions._rotary import Rotary
from mini_attn.numpy.positions.rope import cos_and_sin, rotate
from mini_attn.shapes import DType

Array = NDArray[Any]


class Turn:
    """The rotation of the last numbers of heads; of none without a configuration."""

    def __init__(self, rope: RopeConfig | None, width: int) -> None:
        self._rotary = None if rope is None else Rotary(rope, width)
        self._still = 0 if rope is None else width - (rope.rotary_dim or width)

    def __call__(self, x: Array, forward_pass: Pass, *, back: bool = False) -> Array:
        """Rotate (batch, heads, seq, width) to the pass's positions, or back from them."""
        if self._rotary is None:
            return x
        cos, sin = forward_pass.tables(self._rotary, x.dtype)
        return self._last(x, cos, -sin if back else sin)

    def entries(self, x: Array, positions: Array) -> Array:
        """Rotate (m, width), each to a position of its own."""
        if self._rotary is None:
            return x
        assert self._rotary.speed is not None  # the configuration refuses those that grow
        cos, sin = cos_and_sin(positions, *self._rotary.speed, np.promote_types(x.dtype, "f4"))
        return self._last(x[None, None], cos, sin)[0, 0]

    def _last(self, x: Array, cos: Array, sin: Array) -> Array:
        assert self._rotary is not None
        (turned,) = rotate(cos, sin, self._rotary.layout, x[..., self._still :])
        return np.concatenate([x[..., : self._still], turned], axis=-1)


class Compressor(Module):
    """What tokens say to their entries, and what becomes of their means."""

    indexer: EntryIndexer

    def __init__(
        self, config: CompressedConfig, width: int, turn: Turn, *, seed: int, dtype: DType
    ) -> None:
        self._compress, self._turn = config.compress, turn
        self._series = 1 if config.index_topk is None else 2
        kind: dict[str, Any] = {"dtype": dtype}
        self.position_bias = np.zeros((config.compress, self._series * width), dtype_of(dtype))
        self.kv_proj = Linear(config.d_model, self._series * width, seed=seed, **kind)
        self.gate_proj = Linear(config.d_model, self._series * width, seed=seed + 1, **kind)
        self.kv_norm = Norm(width, "rms_norm", eps=config.eps, **kind)

    def _said(self, x: Array, positions: Array) -> tuple[Array, Array]:
        """Values and gates (batch, series, seq, width) of tokens."""
        gates = self.gate_proj._run(x) + self.position_bias[positions % self._compress]
        return split(self.kv_proj._run(x), self._series), split(gates, self._series)

    def _finish(self, means: Array, spans: Array) -> Array:
        """Entries (m, width) of means, at the position of their span's first token."""
        normed = self.kv_norm._run(means.astype(self.kv_norm.weight.dtype, copy=False))
        return self._turn.entries(normed, spans * self._compress)


class Scorer(Module):
    """How much each head of an indexer counts for a token."""

    def __init__(self, config: CompressedConfig, *, seed: int, dtype: DType) -> None:
        heads = config.index_n_heads or 0
        self.weights_proj = Linear(config.d_model, heads, seed=seed, dtype=dtype)


class EntryIndexer(Compressor):
    """A compressor of smaller entries, and the queries that are compared with them."""

    def __init__(self, config: CompressedConfig, *, seed: int, dtype: DType) -> None:
        width, self._n_heads = config.index_head_dim or 0, config.index_n_heads or 0
        turn = Turn(config.index_rope, width)
        super().__init__(config, width, turn, seed=seed, dtype=dtype)
        asks = config.q_lora_rank or config.d_model
        self.q_b_proj = Linear(asks, self._n_heads * width, seed=seed + 2, dtype=dtype)
        self.scorer = Scorer(config, seed=seed + 3, dtype=dtype)

    def _asked(self, x: Array, asks: Array, forward_pass: Pass) -> tuple[Array, Array]:
        """Queries (batch, index_n_heads, seq, width) and what each head counts for a token."""
        q = self._turn(split(self.q_b_proj._run(asks), self._n_heads), forward_pass)
        return q, self.scorer.weights_proj._run(x)

    def _scores(self, asked: tuple[Array, Array], entries: Array) -> Array:
        """Score entries (batch, 1, entries, width) for tokens: (batch, q_len, entries)."""
        return indexer_scores(asked[0], entries[:, 0], asked[1])
