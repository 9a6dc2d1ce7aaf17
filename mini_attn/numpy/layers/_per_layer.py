"""What a decoder gives each of its layers of each token, beside the stream."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from mini_attn.config import DecoderConfig
from mini_attn.numpy._module import Module
from mini_attn.numpy.layers.basic import Embedding, Linear, Norm, _activate
from mini_attn.shapes import DType

Array = NDArray[Any]


class PerLayerInputs(Module):
    """Rows of a table for the token, and a projection of its embedding, for all layers at once.

    ``given = (norm(projection(x) / sqrt(d_model)) + sqrt(per_layer_dim) * table[token]) / sqrt(2)``
    """

    def __init__(self, config: DecoderConfig, *, seed: int, dtype: DType) -> None:
        self._shape = (config.n_layers, config.per_layer_dim)
        width = config.n_layers * config.per_layer_dim
        self.embed_tokens = Embedding(config.vocab_size, width, seed=seed, dtype=dtype)
        self.projection = Linear(config.d_model, width, seed=seed + 1, dtype=dtype)
        self.norm = Norm(config.per_layer_dim, "rms_norm", eps=config.eps, dtype=dtype)

    def _run(self, tokens: Array, x: Array) -> Array:
        """Numbers (batch, seq, n_layers, per_layer_dim) of tokens and their embeddings."""
        shape = (*x.shape[:2], *self._shape)
        seen = self.projection._run(x).reshape(shape) * x.shape[-1] ** -0.5
        known = self.embed_tokens._run(tokens).reshape(shape) * self._shape[1] ** 0.5
        given: Array = (self.norm._run(seen) + known) * 2**-0.5
        return given


class PerLayerGate(Module):
    """What a layer adds of that: ``x + norm(projection(activate(gate(x)) * given))``."""

    def __init__(self, config: DecoderConfig, *, seed: int, dtype: DType) -> None:
        inner = config.per_layer_dim
        self._activation = config.activation
        self.gate = Linear(config.d_model, inner, seed=seed, dtype=dtype)
        self.projection = Linear(inner, config.d_model, seed=seed + 1, dtype=dtype)
        self.norm = Norm(config.d_model, "rms_norm", eps=config.eps, dtype=dtype)

    def _run(self, x: Array, given: Array) -> Array:
        """The stream with what the layer makes of its own numbers."""
        inner = _activate(self.gate._run(x), self._activation) * given
        added: Array = self.norm._run(self.projection._run(inner))
        return x + added
