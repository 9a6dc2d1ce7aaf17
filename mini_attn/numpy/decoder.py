"""A decoder-only transformer and greedy generation, with and without a cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import DecoderConfig
from mini_attn.errors import (
    CacheOverflowError,
    CacheStateError,
    ConfigError,
    DTypeError,
    MiniAttnError,
    ShapeError,
)
from mini_attn.numpy.cache import KVCache
from mini_attn.numpy.heads import GroupedQueryAttention
from mini_attn.numpy.layers import GatedMLP, PlainMLP, Weighted, layer_norm, rms_norm
from mini_attn.shapes import check_count, named_shapes

__all__ = ["Decoder", "decode_step", "generate", "prefill"]

Array = NDArray[Any]


class Decoder(Weighted):
    """Token and position embeddings, layers of attention and MLP, logits.

    ``x = x + self_attn(norm(x));  x = x + mlp(norm(x));  logits = norm(x) @ embed_tokens.T``

    Parameters
    ----------
    config : DecoderConfig
        Sizes and options.
    seed : int
        Of the random weights.
    dtype : str
        Name of the element type.

    Raises
    ------
    ConfigError
        If the configuration is of another kind.
    DTypeError
        If the dtype is unknown.

    Notes
    -----
    Weights: ``embed_tokens``, ``embed_positions``, ``layers.i.input_layernorm``,
    ``layers.i.self_attn.q_proj`` and so on, ``layers.i.post_attention_layernorm``,
    ``layers.i.mlp.up_proj`` and so on, ``norm``, and ``lm_head`` where embeddings are not tied.

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

    def __init__(self, config: DecoderConfig, *, seed: int = 0, dtype: str = "float32") -> None:
        super().__init__(dtype)
        if not isinstance(config, DecoderConfig):
            raise ConfigError(f"config must be a DecoderConfig, got {config!r:.60}")
        self.config = config
        rng = np.random.default_rng(check_count("seed", seed, least=0))
        self._add_embedding("embed_tokens", config.vocab_size, rng)
        if config.positions == "learned":
            self._add_embedding("embed_positions", config.max_positions, rng)
        for i in range(config.n_layers):
            self._add_layer(f"layers.{i}", 2 * (seed * config.n_layers + i) + 1)
        self._add_norm("norm")
        if not config.tie_embeddings:
            self.add_linear("lm_head", config.d_model, config.vocab_size, False, rng)

    def _add_embedding(self, name: str, rows: int, rng: np.random.Generator) -> None:
        table = 0.02 * rng.standard_normal((rows, self.config.d_model))
        self.weights[f"{name}.weight"] = table.astype(self.dtype)

    def _add_norm(self, name: str) -> None:
        self.weights[f"{name}.weight"] = np.ones(self.config.d_model, self.dtype)
        if self.config.norm == "layer_norm":
            self.weights[f"{name}.bias"] = np.zeros(self.config.d_model, self.dtype)

    def _add_layer(self, name: str, seed: int) -> None:
        config, kind = self.config, PlainMLP if self.config.mlp == "plain" else GatedMLP
        self._add_norm(f"{name}.input_layernorm")
        self._add_norm(f"{name}.post_attention_layernorm")
        self.inside[f"{name}.self_attn"] = GroupedQueryAttention(
            config.attention, seed=seed, dtype=self.dtype.name
        )
        self.inside[f"{name}.mlp"] = kind(
            config.d_model,
            config.d_ff,
            activation=config.activation,
            bias=config.mlp_bias,
            seed=seed + 1,
            dtype=self.dtype.name,
        )

    def new_caches(self, batch: int, capacity: int) -> list[KVCache]:
        """One empty cache per layer.

        ``caches = [KVCache(batch, n_kv_heads, head_dim, capacity)] * n_layers``

        Parameters
        ----------
        batch, capacity : int
            Sequences, and slots of each.

        Returns
        -------
        list of KVCache
            For `prefill`, `decode_step` and `generate`.

        Raises
        ------
        ConfigError
            If a number is below 1.
        """
        attention = self.config.attention
        return [
            KVCache(
                batch,
                attention.kv_heads,
                attention.head_dim,
                capacity,
                v_head_dim=attention.value_dim,
                dtype=self.dtype.name,
            )
            for _ in range(self.config.n_layers)
        ]

    def __call__(
        self,
        tokens: Array,
        *,
        caches: Sequence[KVCache] | None = None,
        positions: Array | None = None,
        last_only: bool = False,
    ) -> Array:
        """Logits of the token that follows each given one.

        ``logits[b, i] = score of each token as the one after tokens[b, : i + 1]``

        Parameters
        ----------
        tokens : integer array (batch, seq)
            Token ids.
        caches : list of KVCache or None
            Past keys and values of each layer; the new tokens are appended.
        positions : integer array (seq,) or (batch, seq), or None
            Positions, -1 for padding; None continues the caches, or counts from 0.
        last_only : bool
            Whether to compute the logits of the last token only.

        Returns
        -------
        array (batch, seq, vocab_size), or (batch, 1, vocab_size) with ``last_only``
            Logits.

        Raises
        ------
        ShapeError
            If a shape is wrong.
        DTypeError
            If tokens or positions are no integers.
        ConfigError
            If a token or position is out of range, or there is not one cache per layer.
        CacheOverflowError
            If a cache is full. After any error the caches are as they were.
        """
        _check_tokens(tokens, self.config)
        if positions is not None:
            _check_positions(positions, tokens.shape, self.config.max_positions)
        held = [] if caches is None else list(caches)
        if caches is not None and len(held) != self.config.n_layers:
            raise ConfigError(f"{self.config.n_layers} layers need as many caches, got {len(held)}")
        x = self._embed(tokens, held[0] if held else None, positions)
        before = [cache.slots for cache in held]
        try:
            for i in range(self.config.n_layers):
                x = self._layer(x, f"layers.{i}", held[i] if held else None, positions)
        except MiniAttnError:
            for cache, slots in zip(held, before, strict=True):
                cache.crop(min(slots, cache.slots))
            raise
        return self._logits(x[:, -1:] if last_only else x)

    def _embed(self, tokens: Array, cache: KVCache | None, positions: Array | None) -> Array:
        """Token embeddings, with those of the positions added."""
        x = self.weights["embed_tokens.weight"][tokens]
        if self.config.positions == "none":
            return x
        if positions is None:
            start = np.zeros(1, np.int64) if cache is None else cache.length
            positions = start[:, None] + np.arange(tokens.shape[1])
            _check_positions(positions, positions.shape, self.config.max_positions)
        # Padding takes the row of position 0: nobody attends to it.
        return np.asarray(x + self.weights["embed_positions.weight"][np.maximum(positions, 0)])

    def _layer(self, x: Array, name: str, cache: KVCache | None, positions: Array | None) -> Array:
        """One layer: attention and MLP, each on the normalised stream and added to it."""
        attention, mlp = self.inside[f"{name}.self_attn"], self.inside[f"{name}.mlp"]
        assert isinstance(attention, GroupedQueryAttention)
        assert isinstance(mlp, PlainMLP | GatedMLP)
        x = x + attention(
            self._norm(f"{name}.input_layernorm", x), cache=cache, positions=positions
        )
        return np.asarray(x + mlp(self._norm(f"{name}.post_attention_layernorm", x)))

    def _norm(self, name: str, x: Array) -> Array:
        weight = self.weights[f"{name}.weight"]
        if self.config.norm == "rms_norm":
            return rms_norm(x, weight, eps=self.config.eps)
        return layer_norm(x, weight, self.weights[f"{name}.bias"], eps=self.config.eps)

    def _logits(self, x: Array) -> Array:
        x = self._norm("norm", x)
        if self.config.tie_embeddings:
            return np.asarray(x @ self.weights["embed_tokens.weight"].T)
        return self.linear("lm_head", x)


def _check_tokens(tokens: Array, config: DecoderConfig) -> None:
    """Token ids (batch, seq), at least one, all in the vocabulary."""
    named_shapes(tokens=(tokens, "batch seq"))
    if tokens.dtype.kind not in "iu":
        raise DTypeError(f"tokens must be an integer array, got {tokens.dtype}")
    if not tokens.size:
        raise ShapeError(f"tokens must not be empty, got shape {tokens.shape}")
    low, high = int(tokens.min()), int(tokens.max())
    if low < 0 or high >= config.vocab_size:
        raise ConfigError(
            f"tokens must lie in 0 … {config.vocab_size - 1}, got {low if low < 0 else high}"
        )


def _check_positions(positions: Array, shape: tuple[int, ...], max_positions: int) -> None:
    """Positions of the tokens, from -1 to the last that the decoder has."""
    if not isinstance(positions, np.ndarray) or positions.dtype.kind not in "iu":
        raise DTypeError(f"positions must be an integer array, got {positions!r:.60}")
    if positions.shape not in (shape, shape[1:]):
        raise ShapeError(f"positions must be {shape} or {shape[1:]}, got {positions.shape}")
    if int(positions.min()) < -1 or int(positions.max()) >= max_positions:
        raise ConfigError(
            f"positions must lie in -1 … {max_positions - 1} (max_positions = {max_positions}), "
            f"got {int(positions.min())} … {int(positions.max())}"
        )


def _padded_positions(padding: Array | None, tokens: Array) -> Array | None:
    """Positions (batch, seq) that count from 0 after each row's padding; -1 within it."""
    named_shapes(tokens=(tokens, "batch seq"))
    if padding is None:
        return None
    named_shapes(tokens=(tokens, "batch seq"), padding=(padding, "batch"))
    if padding.dtype.kind not in "iu":
        raise DTypeError(f"padding must be an integer array, got {padding.dtype}")
    seq = tokens.shape[1]
    if int(padding.min(initial=0)) < 0 or int(padding.max(initial=0)) >= max(seq, 1):
        raise ConfigError(f"padding must lie in 0 … {seq - 1}, got {padding.tolist()!s:.80}")
    return np.asarray(np.maximum(np.arange(seq) - padding[:, None], -1))


def prefill(
    model: Decoder,
    tokens: Array,
    caches: Sequence[KVCache],
    *,
    padding: Array | None = None,
) -> Array:
    """Process the whole prompt in one pass and fill the caches.

    ``logits = model(tokens)[:, -1]``

    Parameters
    ----------
    model : Decoder
        The decoder.
    tokens : integer array (batch, seq)
        The prompts, aligned at their ends.
    caches : list of KVCache
        One per layer; the prompt is appended.
    padding : integer array (batch,) or None
        How many tokens at the start of each row are padding; None means none.

    Returns
    -------
    array (batch, vocab_size)
        Logits of the token after the prompt.

    Raises
    ------
    ShapeError
        If a shape is wrong.
    DTypeError
        If tokens or padding are no integers.
    ConfigError
        If a token is out of range, padding leaves no token, or caches do not fit the layers.
    CacheOverflowError
        If the prompt does not fit. After any error the caches are as they were.
    CacheStateError
        If there is padding and the caches are not empty.

    Notes
    -----
    Logits are computed for the last token only. A longer prompt can come in pieces: the
    second call continues after the first.

    References
    ----------
    pope2022scaling, section 2

    Examples
    --------
    >>> import numpy as np
    >>> from mini_attn.config import AttentionConfig
    >>> attention = AttentionConfig(d_model=8, n_heads=2, head_dim=4)
    >>> model = Decoder(DecoderConfig(16, 1, attention, d_ff=32, max_positions=8))
    >>> prefill(model, np.array([[3, 1, 4]]), model.new_caches(1, 8)).shape
    (1, 16)
    """
    if padding is not None and any(cache.slots for cache in caches):
        raise CacheStateError("padding starts a row, but the caches are not empty")
    positions = _padded_positions(padding, tokens)
    return model(tokens, caches=caches, positions=positions, last_only=True)[:, -1]


def decode_step(model: Decoder, token: Array, caches: Sequence[KVCache]) -> Array:
    """Process one more token of each row, reading the past from the caches.

    ``logits = model(token)[:, 0]``

    Parameters
    ----------
    model : Decoder
        The decoder.
    token : integer array (batch,)
        The latest token of each row.
    caches : list of KVCache
        One per layer; the token is appended.

    Returns
    -------
    array (batch, vocab_size)
        Logits of the token after it.

    Raises
    ------
    ShapeError
        If a shape is wrong.
    DTypeError
        If the tokens are no integers.
    ConfigError
        If a token or its position is out of range, or caches do not fit the layers.
    CacheOverflowError
        If a cache is full. After any error the caches are as they were.

    Notes
    -----
    The cost of everything but attention is that of one token, however long the past.

    References
    ----------
    pope2022scaling, section 2

    Examples
    --------
    >>> import numpy as np
    >>> from mini_attn.config import AttentionConfig
    >>> attention = AttentionConfig(d_model=8, n_heads=2, head_dim=4)
    >>> model = Decoder(DecoderConfig(16, 1, attention, d_ff=32, max_positions=8))
    >>> decode_step(model, np.array([3]), model.new_caches(1, 8)).shape
    (1, 16)
    """
    named_shapes(token=(token, "batch"))
    return model(token[:, None], caches=caches)[:, -1]


def generate(
    model: Decoder,
    tokens: Array,
    *,
    max_new_tokens: int,
    caches: Sequence[KVCache] | None = None,
    padding: Array | None = None,
) -> Array:
    """Append the likeliest token, again and again.

    ``tokens = concatenate(tokens, argmax(logits))``

    Parameters
    ----------
    model : Decoder
        The decoder.
    tokens : integer array (batch, seq)
        The prompts, aligned at their ends.
    max_new_tokens : int
        Tokens to append to each row.
    caches : list of KVCache or None
        One per layer, with room for ``seq + max_new_tokens - 1`` more tokens; None recomputes
        all tokens in every step.
    padding : integer array (batch,) or None
        How many tokens at the start of each row are padding; None means none.

    Returns
    -------
    integer array (batch, seq + max_new_tokens)
        The prompts and what follows them.

    Raises
    ------
    ShapeError
        If a shape is wrong.
    DTypeError
        If tokens or padding are no integers.
    ConfigError
        If a number is out of range, or the result would exceed ``max_positions``.
    CacheOverflowError
        If prompt and new tokens do not fit; nothing is written.
    CacheStateError
        If there is padding and the caches are not empty.

    Notes
    -----
    The last new token is returned but not processed, so it takes no slot.

    References
    ----------
    radford2019gpt2, section 2

    Examples
    --------
    >>> import numpy as np
    >>> from mini_attn.config import AttentionConfig
    >>> attention = AttentionConfig(d_model=8, n_heads=2, head_dim=4)
    >>> model = Decoder(DecoderConfig(16, 1, attention, d_ff=32, max_positions=8))
    >>> prompt = np.array([[3, 1, 4]])
    >>> generate(model, prompt, max_new_tokens=2, caches=model.new_caches(1, 4)).shape
    (1, 5)
    """
    _check_tokens(tokens, model.config)
    new = check_count("max_new_tokens", max_new_tokens)
    positions = _padded_positions(padding, tokens)
    _check_room(model, tokens, new, caches, positions)
    if caches is not None:
        logits = prefill(model, tokens, caches, padding=padding)
    for step in range(new):
        if caches is None:
            logits = model(tokens, positions=positions, last_only=True)[:, -1]
        elif step:
            logits = decode_step(model, tokens[:, -1], caches)
        token = logits.argmax(axis=-1).astype(tokens.dtype)
        tokens = np.concatenate([tokens, token[:, None]], axis=1)
        if positions is not None:
            positions = np.concatenate([positions, positions[:, -1:] + 1], axis=1)
    return tokens


def _check_room(
    model: Decoder,
    tokens: Array,
    new: int,
    caches: Sequence[KVCache] | None,
    positions: Array | None,
) -> None:
    """Refuse before the first step what would fail in a later one."""
    fed = tokens.shape[1] + new - 1
    for cache in caches or ():
        if cache.slots + fed > cache.capacity:
            raise CacheOverflowError(
                f"{tokens.shape[1]} prompt and {new} new tokens need {fed} slots, but "
                f"{cache.slots} of {cache.capacity} are used: make the capacity {cache.slots + fed}"
            )
    start = max((int(cache.length.max()) for cache in caches or ()), default=0)
    last = start + fed if positions is None else int(positions.max()) + new
    if last > model.config.max_positions:
        raise ConfigError(
            f"{start + tokens.shape[1]} tokens and {new} new ones exceed max_positions = "
            f"{model.config.max_positions}"
        )
