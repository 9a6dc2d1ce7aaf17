"""A decoder-only transformer and greedy generation, with and without a cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import DecoderConfig, check_room
from mini_attn.errors import (
    CacheStateError,
    ConfigError,
    MiniAttnError,
    ShapeError,
)
from mini_attn.numpy._module import Module, check_whole
from mini_attn.numpy.cache import KVCache
from mini_attn.numpy.heads import GroupedQueryAttention
from mini_attn.numpy.layers import MLP, Embedding, GatedMLP, Linear, Norm
from mini_attn.shapes import check_count, named_shapes

__all__ = ["Decoder", "DecoderLayer", "decode_step", "generate", "prefill"]

Array = NDArray[Any]


class DecoderLayer(Module):
    """Attention and MLP, each behind a normalisation and added to the stream.

    ``h = x + self_attn(norm(x));  y = h + mlp(norm(h))``

    Parameters
    ----------
    config : DecoderConfig
        Sizes and options.
    seed : int
        Seeds the weights.
    dtype : str
        Name of the data type.

    Raises
    ------
    ConfigError
        If the configuration is of another kind.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    Everything but the attention works on each token by itself.

    References
    ----------
    radford2019gpt2, section 2.3

    Examples
    --------
    >>> import numpy as np
    >>> from mini_attn.config import AttentionConfig
    >>> config = DecoderConfig(64, 1, AttentionConfig(8, 2, 4), d_ff=16, max_positions=8)
    >>> DecoderLayer(config)(np.zeros((1, 3, 8), dtype="float32")).shape
    (1, 3, 8)
    """

    def __init__(self, config: DecoderConfig, *, seed: int = 0, dtype: str = "float32") -> None:
        if not isinstance(config, DecoderConfig):
            raise ConfigError(f"config must be a DecoderConfig, got {config!r:.60}")
        mlp = MLP if config.mlp == "plain" else GatedMLP
        self.input_layernorm = Norm(config.d_model, config.norm, eps=config.eps, dtype=dtype)
        self.self_attn = GroupedQueryAttention(config.attention, seed=seed, dtype=dtype)
        self.post_attention_layernorm = Norm(
            config.d_model, config.norm, eps=config.eps, dtype=dtype
        )
        self.mlp = mlp(
            config.d_model,
            config.d_ff,
            activation=config.activation,
            bias=config.mlp_bias,
            seed=seed + 10,
            dtype=dtype,
        )

    def __call__(
        self, x: Array, *, cache: KVCache | None = None, positions: Array | None = None
    ) -> Array:
        """Transform tokens (batch, q_len, d_model); arguments as in `GroupedQueryAttention`."""
        x = x + self.self_attn(self.input_layernorm(x), cache=cache, positions=positions)
        return np.asarray(x + self.mlp(self.post_attention_layernorm(x)))


class Decoder(Module):
    """Token and position embeddings, layers of attention and MLP, logits.

    ``x = x + self_attn(norm(x));  x = x + mlp(norm(x));  logits = norm(x) @ embed_tokens.T``

    Parameters
    ----------
    config : DecoderConfig
        Sizes and options.
    seed : int
        Seeds the weights.
    dtype : str
        Name of the data type.

    Raises
    ------
    ConfigError
        If the configuration is of another kind.
    DTypeError
        If the data type is unknown.

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
        if not isinstance(config, DecoderConfig):
            raise ConfigError(f"config must be a DecoderConfig, got {config!r:.60}")
        self.config = config
        self.embed_tokens = Embedding(config.vocab_size, config.d_model, seed=seed, dtype=dtype)
        if config.positions == "learned":
            self.embed_positions = Embedding(
                config.max_positions, config.d_model, seed=seed + 1, dtype=dtype
            )
        self.layers = [
            DecoderLayer(config, seed=seed + 100 * (i + 1), dtype=dtype)
            for i in range(config.n_layers)
        ]
        self.norm = Norm(config.d_model, config.norm, eps=config.eps, dtype=dtype)
        if not config.tie_embeddings:
            self.lm_head = Linear(config.d_model, config.vocab_size, seed=seed + 2, dtype=dtype)

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
        return [layer.self_attn.new_cache(batch, capacity) for layer in self.layers]

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
        array (batch, seq, vocab_size), or (batch, vocab_size) with ``last_only``
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
        _check_tokens(tokens)
        held = [None] * self.config.n_layers if caches is None else list(caches)
        if len(held) != self.config.n_layers:
            raise ConfigError(f"{self.config.n_layers} layers need as many caches, got {len(held)}")
        if held[0] is not None and held[0].batch != tokens.shape[0]:
            raise ShapeError(f"tokens have batch = {tokens.shape[0]}, caches {held[0].batch}")
        x = self.embed_tokens(tokens)
        if self.config.positions == "learned":
            places = self._places(tokens, held[0], positions)
            x = x + self.embed_positions(np.maximum(places, 0))  # nobody attends to padding
        before = [0 if cache is None else cache.slots for cache in held]
        try:
            for layer, cache in zip(self.layers, held, strict=True):
                x = layer(x, cache=cache, positions=positions)
        except MiniAttnError:  # a later layer refused: take back what earlier ones wrote
            for cache, slots in zip(held, before, strict=True):
                if cache is not None:
                    cache.crop(min(slots, cache.slots))
            raise
        return self._logits(x[:, -1:])[:, 0] if last_only else self._logits(x)

    def _logits(self, x: Array) -> Array:
        x = self.norm(x)
        if self.config.tie_embeddings:
            return np.asarray(x @ self.embed_tokens.weight.T)
        return self.lm_head(x)

    def _places(self, tokens: Array, cache: KVCache | None, positions: Array | None) -> Array:
        """Positions of the tokens, none beyond the last that has an embedding."""
        if positions is None:
            start = np.zeros(len(tokens), np.int64) if cache is None else cache.length
            positions = start[:, None] + np.arange(tokens.shape[1])
        check_whole("positions", positions)
        if positions.shape not in (tokens.shape, tokens.shape[1:]):
            raise ShapeError(f"positions must fit {tokens.shape}, got {positions.shape}")
        low, high, last = int(positions.min()), int(positions.max()), self.config.max_positions
        if low < -1 or high >= last:
            raise ConfigError(f"positions lie in [-1, max_positions = {last}), got {low} … {high}")
        return positions


def _check_tokens(tokens: Array) -> None:
    """Token ids (batch, seq), at least one; the embedding checks their range."""
    sizes = named_shapes(tokens=(tokens, "batch seq"))
    check_whole("tokens", tokens)
    if not all(sizes.values()):
        raise ShapeError(f"tokens must not be empty, got shape {tuple(tokens.shape)}")


def _padded_positions(
    tokens: Array, lengths: Array | None, caches: Sequence[KVCache] | None
) -> Array | None:
    """Positions (batch, seq) that count from 0 after each row's padding; -1 within it."""
    if lengths is None:
        return None
    seq = named_shapes(tokens=(tokens, "batch seq"), lengths=(lengths, "batch"))["seq"]
    check_whole("lengths", lengths)
    if (lengths < 1).any() or (lengths > seq).any():
        raise ConfigError(f"lengths must lie in 1 … seq = {seq}, got {lengths.tolist()!s:.80}")
    if caches and caches[0].slots:
        raise CacheStateError(f"lengths pads empty caches, here {caches[0].slots} slots are filled")
    return np.asarray(np.maximum(np.arange(seq) - (seq - lengths[:, None]), -1))


def prefill(
    model: Decoder,
    tokens: Array,
    caches: Sequence[KVCache],
    *,
    lengths: Array | None = None,
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
    lengths : integer array (batch,) or None
        Real tokens of each row, at its end; what is before them is padding. None means all.

    Returns
    -------
    array (batch, vocab_size)
        Logits of the token after the prompt.

    Raises
    ------
    ShapeError
        If a shape is wrong.
    DTypeError
        If tokens or lengths are no integers.
    ConfigError
        If a token is out of range, a length is not 1 to seq, or caches do not fit the layers.
    CacheOverflowError
        If the prompt does not fit. After any error the caches are as they were.
    CacheStateError
        If there are lengths and the caches are not empty.

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
    positions = _padded_positions(tokens, lengths, caches)
    return model(tokens, caches=caches, positions=positions, last_only=True)


def decode_step(model: Decoder, token: Array, caches: Sequence[KVCache]) -> Array:
    """Process one more token of each row, reading the past from the caches.

    ``logits = model(token)[:, 0]``

    Parameters
    ----------
    model : Decoder
        The decoder.
    token : integer array (batch, 1)
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
    >>> decode_step(model, np.array([[3]]), model.new_caches(1, 8)).shape
    (1, 16)
    """
    if named_shapes(token=(token, "batch seq"))["seq"] != 1:
        raise ShapeError(f"token must be (batch, 1), got shape {token.shape}")
    return model(token, caches=caches, last_only=True)


def generate(
    model: Decoder,
    tokens: Array,
    *,
    max_new_tokens: int,
    caches: Sequence[KVCache] | None = None,
    lengths: Array | None = None,
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
    lengths : integer array (batch,) or None
        Real tokens of each row, at its end; what is before them is padding. None means all.

    Returns
    -------
    integer array (batch, seq + max_new_tokens)
        The prompts and what follows them.

    Raises
    ------
    ShapeError
        If a shape is wrong.
    DTypeError
        If tokens or lengths are no integers.
    ConfigError
        If a number is out of range, or the result would exceed ``max_positions``.
    CacheOverflowError
        If prompt and new tokens do not fit; nothing is written.
    CacheStateError
        If there are lengths and the caches are not empty.

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
    _check_tokens(tokens)
    check_count("max_new_tokens", max_new_tokens, least=0)
    positions = _padded_positions(tokens, lengths, caches)
    longest = tokens.shape[1] + max((int(c.length.max()) for c in caches or ()), default=0)
    longest = longest if positions is None else int(positions.max()) + 1
    check_room(
        model.config, caches or (), prompt=tokens.shape[1], new=max_new_tokens, longest=longest
    )
    for step in range(max_new_tokens):
        if caches is None:
            logits = model(tokens, positions=positions, last_only=True)
        elif step == 0:
            logits = prefill(model, tokens, caches, lengths=lengths)
        else:
            logits = decode_step(model, tokens[:, -1:], caches)
        token = logits.argmax(axis=-1)[:, None].astype(tokens.dtype)
        tokens = np.concatenate([tokens, token], axis=1)
        if positions is not None:
            positions = np.concatenate([positions, positions[:, -1:] + 1], axis=1)
    return tokens
