"""A small decoder and the two ways to run it: all tokens again, or one new token and caches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import DecoderConfig
from mini_attn.errors import CacheOverflowError, ConfigError, DTypeError, ShapeError
from mini_attn.numpy._module import Module
from mini_attn.numpy.cache import KVCache
from mini_attn.numpy.dtypes import dtype_of
from mini_attn.numpy.heads import MultiHeadAttention
from mini_attn.numpy.layers import MLP, GatedMLP, Linear, Norm
from mini_attn.shapes import check_count, named_shapes

__all__ = ["Decoder", "DecoderLayer", "decode_step", "generate", "prefill"]

Array = NDArray[Any]


class DecoderLayer(Module):
    """Attention and MLP, each behind a normalisation and added to the stream.

    ``h = x + attention(norm(x));  y = h + mlp(norm(h))``

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
    DTypeError
        If the data type is unknown.

    Notes
    -----
    Everything but the attention works on each token alone.

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
        mlp = MLP if config.mlp == "plain" else GatedMLP
        self.attention_norm = Norm(config.d_model, config.norm, eps=config.eps, dtype=dtype)
        self.attention = MultiHeadAttention(config.attention, seed=seed, dtype=dtype)
        self.mlp_norm = Norm(config.d_model, config.norm, eps=config.eps, dtype=dtype)
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
        """Tokens (batch, q_len, d_model) to the same shape."""
        x = x + self.attention(self.attention_norm(x), cache=cache, positions=positions)
        return x + self.mlp(self.mlp_norm(x))


class Decoder(Module):
    """Token embedding, layers, and logits over the vocabulary.

    ``logits = norm(layers(embed(tokens) + embed(positions))) @ W_vocab``

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
    DTypeError
        If the data type is unknown.

    Notes
    -----
    With layer norms, learned positions, a plain MLP and tied embeddings it is GPT-2.

    References
    ----------
    radford2019gpt2, section 2.3

    Examples
    --------
    >>> import numpy as np
    >>> from mini_attn.config import AttentionConfig
    >>> model = Decoder(DecoderConfig(64, 2, AttentionConfig(8, 2, 4), d_ff=16, max_positions=8))
    >>> model(np.array([[3, 1, 4]])).shape
    (1, 3, 64)
    """

    def __init__(self, config: DecoderConfig, *, seed: int = 0, dtype: str = "float32") -> None:
        self.config = config
        rng = np.random.default_rng(seed)

        def table(rows: int) -> Array:
            return (0.02 * rng.standard_normal((rows, config.d_model))).astype(dtype_of(dtype))

        self.embed_tokens = table(config.vocab_size)
        if config.positions == "learned":
            self.embed_positions = table(config.max_positions)
        self.layers = [
            DecoderLayer(config, seed=seed + 100 * (i + 1), dtype=dtype)
            for i in range(config.n_layers)
        ]
        self.final_norm = Norm(config.d_model, config.norm, eps=config.eps, dtype=dtype)
        if not config.tie_embeddings:
            self.lm_head = Linear(config.d_model, config.vocab_size, seed=seed + 1, dtype=dtype)

    def new_caches(self, batch: int, capacity: int) -> list[KVCache]:
        """One empty cache for each layer.

        Parameters
        ----------
        batch, capacity : int
            Sequences, and tokens there is room for.

        Returns
        -------
        list of KVCache
            In the dtype of the weights.
        """
        return [layer.attention.new_cache(batch, capacity) for layer in self.layers]

    def __call__(
        self,
        tokens: Array,
        *,
        caches: list[KVCache] | None = None,
        positions: Array | None = None,
        last_only: bool = False,
    ) -> Array:
        """Logits of the tokens.

        Parameters
        ----------
        tokens : integer array (batch, seq)
            Token ids; at padding any valid id.
        caches : list of KVCache or None
            One per layer; None computes from these tokens alone.
        positions : integer array (batch, seq) or None
            Position of each token, -1 for padding; None counts on from the caches.
        last_only : bool
            Whether to return the logits of the last token only.

        Returns
        -------
        array (batch, seq, vocab_size), or (batch, vocab_size) with ``last_only``
            Scores of every possible next token.

        Raises
        ------
        ShapeError, DTypeError, ConfigError
            If tokens or positions do not fit the model.
        CacheOverflowError
            If a cache or the learned positions have no room.
        """
        places = self._check(tokens, caches, positions)
        x = self.embed_tokens[tokens]
        if self.config.positions == "learned":
            x = x + self.embed_positions[np.maximum(places, 0)]
        for i, layer in enumerate(self.layers):
            x = layer(x, cache=None if caches is None else caches[i], positions=positions)
        x = self.final_norm(x[:, -1] if last_only else x)
        return x @ self.embed_tokens.T if self.config.tie_embeddings else self.lm_head(x)

    def _check(self, tokens: Array, caches: list[KVCache] | None, positions: Array | None) -> Array:
        """Refuse what does not fit before any cache is touched; gives the positions."""
        sizes = named_shapes(tokens=(tokens, "batch seq"))
        if tokens.dtype.kind not in "iu":
            raise DTypeError(f"tokens must be integers, got {tokens.dtype}")
        if not sizes["seq"]:
            raise ShapeError("tokens must hold at least one token, got seq = 0")
        if tokens.min() < 0 or tokens.max() >= self.config.vocab_size:
            raise ConfigError(
                f"tokens must be 0 to {self.config.vocab_size - 1}, "
                f"got {tokens.min()} to {tokens.max()}"
            )
        if caches is not None and len(caches) != self.config.n_layers:
            raise ConfigError(f"{self.config.n_layers} layers need as many caches: {len(caches)}")
        for cache in caches or ():
            if cache.slots + sizes["seq"] > cache.capacity:
                raise CacheOverflowError(
                    f"no room for {sizes['seq']} more tokens: {cache.slots} of capacity "
                    f"{cache.capacity} are in use"
                )
        if positions is None:
            start = np.zeros(sizes["batch"], int) if caches is None else caches[0].length
            positions = start[:, None] + np.arange(sizes["seq"])
        if positions.shape != tokens.shape:
            raise ShapeError(f"positions must be {tokens.shape} as the tokens: {positions.shape}")
        if self.config.positions == "learned" and positions.max() >= self.config.max_positions:
            raise CacheOverflowError(
                f"position {positions.max()} is beyond max_positions = {self.config.max_positions}"
            )
        return positions


def prefill(
    model: Decoder, tokens: Array, caches: list[KVCache], *, lengths: Array | None = None
) -> Array:
    """Run a prompt, or a chunk of one, into the caches.

    ``logits = model(tokens)[:, -1]``

    Parameters
    ----------
    model : Decoder
        The model.
    tokens : integer array (batch, seq)
        Tokens that follow what the caches hold.
    caches : list of KVCache
        One per layer; they grow by ``seq``.
    lengths : integer array (batch,) or None
        Real tokens in each row, which stand at its end; the rest is padding on the left.
        None means that all are real.

    Returns
    -------
    array (batch, vocab_size)
        Logits after the last token.

    Raises
    ------
    ShapeError, DTypeError, ConfigError
        If something does not fit the model.
    CacheOverflowError
        If there is no room.

    Notes
    -----
    Works on many rows at once: bound by arithmetic, not by reading.

    References
    ----------
    pope2022scaling, section 2

    Examples
    --------
    >>> import numpy as np
    >>> from mini_attn.config import AttentionConfig
    >>> model = Decoder(DecoderConfig(64, 1, AttentionConfig(8, 2, 4), d_ff=16, max_positions=8))
    >>> prefill(model, np.array([[3, 1, 4]]), model.new_caches(1, 8)).shape
    (1, 64)
    """
    positions = None
    if lengths is not None:
        sizes = named_shapes(tokens=(tokens, "batch seq"), lengths=(lengths, "batch"))
        if lengths.min() < 1 or lengths.max() > sizes["seq"]:
            raise ConfigError(f"lengths must be 1 to seq = {sizes['seq']}, got {lengths}")
        if caches[0].slots:
            raise ConfigError("lengths pads the first chunk only: these caches hold tokens already")
        offset = sizes["seq"] - lengths[:, None]
        positions = np.maximum(np.arange(sizes["seq"]) - offset, -1)
    return model(tokens, caches=caches, positions=positions, last_only=True)


def decode_step(model: Decoder, token: Array, caches: list[KVCache]) -> Array:
    """Run one new token of each sequence.

    ``logits = model(token, caches)``

    Parameters
    ----------
    model : Decoder
        The model.
    token : integer array (batch, 1)
        The newest token of each row.
    caches : list of KVCache
        One per layer; they grow by 1.

    Returns
    -------
    array (batch, vocab_size)
        Logits of the next token.

    Raises
    ------
    ShapeError, DTypeError, ConfigError
        If something does not fit the model.
    CacheOverflowError
        If there is no room.

    Notes
    -----
    Reads all weights and the whole cache for one row each: bound by reading.

    References
    ----------
    pope2022scaling, section 2

    Examples
    --------
    >>> import numpy as np
    >>> from mini_attn.config import AttentionConfig
    >>> model = Decoder(DecoderConfig(64, 1, AttentionConfig(8, 2, 4), d_ff=16, max_positions=8))
    >>> caches = model.new_caches(1, 8)
    >>> decode_step(model, np.array([[3]]), caches).shape, caches[0].slots
    ((1, 64), 1)
    """
    if tuple(getattr(token, "shape", ()))[1:] != (1,):
        raise ShapeError(f"token must be (batch, 1), got {getattr(token, 'shape', token)!r}")
    return model(token, caches=caches, last_only=True)


def generate(
    model: Decoder,
    tokens: Array,
    *,
    max_new_tokens: int,
    caches: list[KVCache] | None = None,
    lengths: Array | None = None,
) -> Array:
    """Continue the tokens greedily, with caches or by computing everything again.

    ``token[t + 1] = argmax(logits(token[0..t]))``

    Parameters
    ----------
    model : Decoder
        The model.
    tokens : integer array (batch, seq)
        The prompt.
    max_new_tokens : int
        Tokens to add.
    caches : list of KVCache or None
        Empty caches, one per layer; None recomputes the whole past in every step.
    lengths : integer array (batch,) or None
        Real tokens in each row of a left-padded prompt; needs ``caches``.

    Returns
    -------
    integer array (batch, seq + max_new_tokens)
        Prompt and continuation.

    Raises
    ------
    ShapeError, DTypeError, ConfigError
        If something does not fit the model.
    CacheOverflowError
        If the caches or the model have no room for all new tokens; checked before the start.

    Notes
    -----
    Token passes: ``seq + max_new_tokens - 1`` with caches, the sum of
    ``seq … seq + max_new_tokens - 1`` without. The last token is not run through the model.

    References
    ----------
    pope2022scaling, section 2

    Examples
    --------
    >>> import numpy as np
    >>> from mini_attn.config import AttentionConfig
    >>> model = Decoder(DecoderConfig(64, 1, AttentionConfig(8, 2, 4), d_ff=16, max_positions=8))
    >>> generate(model, np.array([[3, 1]]), max_new_tokens=3).shape
    (1, 5)
    """
    _check_room(model, tokens, max_new_tokens, caches)
    if caches is None and lengths is not None:
        raise ConfigError("lengths needs caches: padding is kept as positions in the caches")
    for step in range(max_new_tokens):
        if caches is None:
            logits = model(tokens, last_only=True)
        elif step == 0:
            logits = prefill(model, tokens, caches, lengths=lengths)
        else:
            logits = decode_step(model, tokens[:, -1:], caches)
        tokens = np.concatenate([tokens, logits.argmax(axis=-1)[:, None]], axis=1)
    return tokens


def _check_room(
    model: Decoder, tokens: Array, max_new_tokens: int, caches: list[KVCache] | None
) -> None:
    """Refuse at the start what would fail in the middle."""
    sizes = named_shapes(tokens=(tokens, "batch seq"))
    check_count("max_new_tokens", max_new_tokens, least=0)
    last = sizes["seq"] + max_new_tokens - 1
    if model.config.positions == "learned" and last > model.config.max_positions:
        raise CacheOverflowError(
            f"{last} positions are needed, the model has max_positions = "
            f"{model.config.max_positions}"
        )
    for cache in caches or ():
        if cache.slots:
            raise ConfigError(f"generate needs empty caches, one holds {cache.slots} tokens")
        if last > cache.capacity:
            raise CacheOverflowError(f"{last} slots are needed, a cache has {cache.capacity}")
