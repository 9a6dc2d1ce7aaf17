"""A decoder-only transformer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.caching import Transaction
from mini_attn.caching.validation import check_cache, check_caches, check_range
from mini_attn.config import DecoderConfig, check_decoder
from mini_attn.errors import ConfigError
from mini_attn.numpy._module import Module, check_token_ids, check_tokens, dtype_of, table_dtype
from mini_attn.numpy.layers._cross_layer import CrossLayerAttention
from mini_attn.numpy.layers._pass import Pass, begin_pass, check_new_positions, run_layer
from mini_attn.numpy.layers._per_layer import PerLayerGate, PerLayerInputs
from mini_attn.numpy.layers.basic import Embedding, Linear, Norm
from mini_attn.numpy.layers.experts import feed_forward
from mini_attn.numpy.positions.position import sines_and_cosines
from mini_attn.shapes import DType, check_count, check_flag
from mini_attn.variants import variant

__all__ = ["Decoder", "DecoderLayer"]

Array = NDArray[Any]


class DecoderLayer(Module):
    """Attention and MLP, each with its normalization and added to the stream.

    ``h = x + self_attn(norm(x));  y = h + mlp(norm(h))``

    Parameters
    ----------
    config : DecoderConfig
        Sizes and options.
    layer : int
        Which of the configuration's attentions it has.
    seed : int
        Seeds the weights: two layers of the same sizes and seed begin with equal weights.
    dtype : str or data type
        Data type or its name, as ``"float32"``.

    Raises
    ------
    ConfigError
        If the configuration is of another kind.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    Causal. Everything but the attention works on each token by itself. The formula is that of
    ``norm_placement="before"``; "after" is ``x + norm(self_attn(x))``, "both"
    ``x + norm(self_attn(norm(x)))``, "stream" ``norm(x) + self_attn(norm(x))``, and the MLP
    likewise. A norm before a block keeps what the
    block reads at one size, however much the stream grew; one after it bounds what it adds.

    References
    ----------
    radford2019gpt2, section 2.3
    gemma2024gemma2, section 2
    olmo2024olmo2, section 2

    Examples
    --------
    >>> import numpy as np
    >>> from mini_attn.config import AttentionConfig
    >>> config = DecoderConfig(64, 1, AttentionConfig(8, 2, 4), d_ff=16, max_positions=8)
    >>> DecoderLayer(config)(np.zeros((1, 3, 8), dtype="float32")).shape
    (1, 3, 8)
    """

    _outer: Pass | None = None  # a decoder's, while it makes the public call
    input_layernorm: Norm  # which of the four there are, the configuration says
    post_attention_layernorm: Norm

    def __init__(
        self, config: DecoderConfig, *, layer: int = 0, seed: int = 0, dtype: DType = "float32"
    ) -> None:
        check_decoder(config)
        check_count("layer", layer, least=0)
        if layer >= config.n_layers:
            raise ConfigError(f"layer must lie in 0 … {config.n_layers - 1}, got {layer}")
        self._source = config.sources[layer]
        self._reads, self._is_read = self._source != layer, config.sources.count(layer) > 1
        attention: Any = CrossLayerAttention
        if not self._reads:
            attention = variant(config.attentions[layer].variant).layer_class("numpy")
        self._norms = config.layer_norms[layer]
        self._on_stream = config.placements[layer] == "stream"
        self._scales: Any = None if config.stream_scales is None else config.stream_scales[layer]
        norm = partial(Norm, config.d_model, config.norm, eps=config.eps, dtype=dtype)
        if self._norms.before_attention is not None:
            self.input_layernorm = norm()
        self.self_attn = attention(config.attentions[layer], seed=seed, dtype=dtype)
        for name in filter(None, self._norms[1:]):
            setattr(self, name, norm())
        mlp = feed_forward(config, layer, seed + 10, dtype)
        if mlp is not None:
            self.mlp = mlp
        self._index, self._scaled = layer, config.layer_scalars
        if config.per_layer_dim:
            self.per_layer = PerLayerGate(config, seed=seed + 20, dtype=dtype)
        if config.layer_scalars:
            self.layer_scalar = np.ones(1, dtype_of(dtype))
        self._ends_otherwise = bool(config.per_layer_dim) or config.layer_scalars

    def _sizes(self) -> dict[str, Any]:
        named = [name for name in ("self_attn", "mlp") if hasattr(self, name)]
        parts = {name: type(getattr(self, name)).__name__ for name in named}
        return {"d_model": len(self._first_norm.weight), **parts}

    @property
    def _first_norm(self) -> Norm:
        """A norm that the layer has, wherever it stands."""
        norm: Norm = getattr(self, next(filter(None, self._norms)))
        return norm

    def __call__(self, x: Array, *, cache: Any = None, positions: Array | None = None) -> Array:
        """Transform tokens (batch, q_len, d_model); arguments as in `GroupedQueryAttention`."""
        check_tokens("x", x, self._first_norm.weight[None])
        if self._outer is None and hasattr(self, "per_layer"):
            raise ConfigError("this layer has inputs of its own from its decoder: call that")
        if self._reads and (self._outer is None or cache is not None):
            raise ConfigError(
                f"this layer reads the keys and values of layer {self._source} and has no cache: "
                "call the decoder"
            )
        forward_pass = begin_pass(x, cache, positions, outer=self._outer)
        if cache is not None:
            check_cache(cache, self.self_attn, len(x), x.dtype)
        out = self._run(x, forward_pass, cache)
        forward_pass.transaction.commit()
        return out

    _checked_call = __call__

    def _run(self, x: Array, forward_pass: Pass, cache: Any) -> Array:
        """The layer without checks; what goes into the cache counts once the pass commits."""
        norms = self._norms
        y = self._norm(norms.before_attention, x)
        if self._reads:
            cache = forward_pass.kept[self._source]
        x = y if self._on_stream else x
        y = run_layer(self.self_attn, y, forward_pass, cache)
        if self._is_read:
            forward_pass.hand_on(self._source)
        forward_pass.latest = None  # its memory is free again
        if norms.after_attention is not None:
            y = self._norm(norms.after_attention, y)
        x = x + y if self._scales is None else self._added(x, y, 0)
        if not hasattr(self, "mlp"):
            return x
        y = self._norm(norms.before_mlp, x)
        x = y if self._on_stream else x
        y = self.mlp._run(y)
        if norms.after_mlp is not None:
            y = self._norm(norms.after_mlp, y)
        x = x + y if self._scales is None else self._added(x, y, 2)
        return self._finish(x, forward_pass.inputs) if self._ends_otherwise else x

    def _added(self, x: Array, y: Array, first: int) -> Array:
        """The stream and what a block answers, each times its factor."""
        return self._scales[first] * x + self._scales[first + 1] * y

    def _finish(self, x: Array, inputs: Any) -> Array:
        """Add what the layer makes of its own numbers of each token, and scale."""
        if inputs is not None:
            x = self.per_layer._run(x, inputs[:, :, self._index])
        return x * self.layer_scalar if self._scaled else x

    def _norm(self, name: str | None, x: Array) -> Array:
        """The norm of that name, where there is one."""
        return x if name is None else getattr(self, name)._run(x)


class Decoder(Module):
    """Token and position embeddings, layers of attention and MLP, logits.

    ``x = x + self_attn(norm(x));  x = x + mlp(norm(x));  logits = norm(x) @ embed_tokens.T``

    Parameters
    ----------
    config : DecoderConfig
        Sizes and options.
    seed : int
        Seeds the weights: two layers of the same sizes and seed begin with equal weights.
    dtype : str or data type
        Data type or its name, as ``"float32"``.

    Raises
    ------
    ConfigError
        If the configuration is of another kind.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    Causal: a token's logits depend on itself and on what stands before it.

    Weights: ``embed_tokens``, ``embed_positions``, ``layers.i.input_layernorm``,
    ``layers.i.self_attn.q_proj`` and so on, ``layers.i.post_attention_layernorm``,
    ``layers.i.mlp.up_proj`` and so on (where there are experts those of `MixtureOfExperts`),
    ``norm``, and ``lm_head`` where embeddings are not tied.
    Norms are called what published files call them (``DecoderConfig.norm_names``): with
    ``norm_placement`` "after" a layer has ``post_attention_layernorm`` on what the attention gives
    and ``post_feedforward_layernorm`` on what the MLP gives; with "both" it has these,
    ``input_layernorm`` and ``pre_feedforward_layernorm``.

    References
    ----------
    radford2019gpt2, section 2.3

    Examples
    --------
    >>> import numpy as np
    >>> from mini_attn.config import AttentionConfig
    >>> attention = AttentionConfig(d_model=8, n_heads=2, head_dim=4)
    >>> model = Decoder(DecoderConfig(16, 1, attention, d_ff=32, max_positions=8))
    >>> model(np.array([[3, 1, 4]])).shape
    (1, 3, 16)
    """

    def __init__(self, config: DecoderConfig, *, seed: int = 0, dtype: DType = "float32") -> None:
        check_decoder(config)
        self.config = config
        self.embed_tokens = Embedding(config.vocab_size, config.d_model, seed=seed, dtype=dtype)
        if config.positions == "learned":
            self.embed_positions = Embedding(
                config.max_positions, config.d_model, seed=seed + 1, dtype=dtype
            )
        self.layers = [
            DecoderLayer(config, layer=i, seed=seed + 100 * (i + 1), dtype=dtype)
            for i in range(config.n_layers)
        ]
        self.norm = Norm(config.d_model, config.norm, eps=config.eps, dtype=dtype)
        if config.per_layer_dim:
            self.per_layer_inputs = PerLayerInputs(config, seed=seed + 3, dtype=dtype)
        if not config.tie_embeddings:
            self.lm_head = Linear(config.d_model, config.vocab_size, seed=seed + 2, dtype=dtype)

    def _sizes(self) -> dict[str, Any]:
        return {**super()._sizes(), "d_model": self.config.d_model}

    @property
    def _keeping(self) -> list[Any]:
        """The layers that keep keys and values of their own."""
        return [self.layers[i] for i in self.config.keeping_layers]

    def new_caches(self, batch: int, capacity: int) -> list[Any]:
        """One empty cache per layer that keeps keys and values, of the kind that it fills.

        ``caches = [layers[i].self_attn.new_cache(batch, capacity) for i in keeping_layers]``

        Parameters
        ----------
        batch, capacity : int
            Sequences, and slots of each.

        Returns
        -------
        list of caches
            For `prefill`, `decode_step` and `generate`.

        Raises
        ------
        ConfigError
            If a number is below 1.
        """
        return [layer.self_attn.new_cache(batch, capacity) for layer in self._keeping]

    def __call__(
        self,
        tokens: Array,
        *,
        caches: Sequence[Any] | None = None,
        positions: Array | None = None,
        last_only: bool = False,
    ) -> Array:
        """Logits of the token that follows each given one.

        ``logits[b, i] = score of each token as the one after tokens[b, : i + 1]``

        Parameters
        ----------
        tokens : integer array (batch, seq)
            Token ids.
        caches : list of caches or None
            Past keys and values of each layer that keeps its own (``config.keeping_layers``); the
            new tokens are appended.
        positions : integer array (seq,) or (batch, seq), or None
            Positions, -1 for padding; None continues the caches, or counts from 0.
        last_only : bool
            Whether to compute the logits of the last token only.

        Returns
        -------
        array (batch, seq, vocab_size), or (batch, vocab_size) with ``last_only``
            Logits.

        Raises
        ------
        ShapeError
            If a shape is wrong.
        DTypeError
            If tokens or positions are not int32 or int64.
        ConfigError
            If a token or position is out of range, or there is not one cache per keeping layer.
        CacheOverflowError
            If a cache is full. After any error the caches are as they were.
        """
        check_flag("last_only", last_only)
        cached = self._check(tokens, caches, positions)
        transaction = Transaction()
        logits = self._run(tokens, cached, positions, transaction, last_only)
        transaction.commit()
        return logits

    _checked_call = __call__

    def _run(
        self,
        tokens: Array,
        caches: Sequence[Any],
        positions: Array | None,
        transaction: Transaction,
        last_only: bool = False,
    ) -> Array:
        """Logits without checks; what goes into the caches counts once the transaction commits."""
        forward_pass = Pass(tokens.shape[1], caches[0], transaction, positions)
        x = self._embed_tokens(tokens)
        if self.config.positions != "none":
            x = x + self._embed(forward_pass.positions, tokens.shape)
        if self.config.per_layer_dim:
            forward_pass.inputs = self.per_layer_inputs._run(tokens, x)
        sources, given = self.config.kv_sources, iter(caches)
        for i, layer in enumerate(self.layers):
            keeps = sources is None or sources[i] == i
            x = run_layer(layer, x, forward_pass, next(given) if keeps else None)
        return self._logits(x[:, -1:])[:, 0] if last_only else self._logits(x)

    def _logits(self, x: Array) -> Array:
        x, bound = self.norm._run(x), self.config.logit_softcap
        tied = self.config.tie_embeddings
        logits = x @ self.embed_tokens.weight.T if tied else self.lm_head._run(x)
        return np.asarray(logits if bound is None else bound * np.tanh(logits / bound))

    def _embed_tokens(self, tokens: Array) -> Array:
        """Rows of the table, times a factor that the model's type has rounded too."""
        x, factor = self.embed_tokens._run(tokens), self.config.embed_scale
        return x if factor is None else np.asarray(x * x.dtype.type(factor))

    def _embed(self, positions: Array, shape: tuple[int, ...]) -> Array:
        """Embeddings of the tokens' positions; padding, which nobody sees, takes that of 0."""
        positions = np.maximum(positions, 0)
        if self.config.positions == "learned":
            return self.embed_positions._run(np.broadcast_to(positions, shape))
        kind = self.embed_tokens.weight.dtype
        wide = table_dtype(kind)
        return sines_and_cosines(positions, self.config.d_model, 10000.0, wide).astype(kind)

    def _check(
        self, tokens: Array, caches: Sequence[Any] | None, positions: Array | None
    ) -> list[Any]:
        """The caches, one for each layer, after every check that needs no computing."""
        check_token_ids(tokens)
        self.embed_tokens._check_index(tokens)
        dtype = self.embed_tokens.weight.dtype
        keeping = self.layers if self.config.kv_sources is None else self._keeping
        cached = check_caches(caches, keeping, len(tokens), dtype)
        if positions is not None:
            check_new_positions(positions, tokens.shape)
        if self.config.positions != "none":
            check_range(positions, tokens.shape[1], cached[0], self.config.max_positions)
        return cached
