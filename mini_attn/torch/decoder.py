"""A small decoder and the two ways to run it: all tokens again, or one new token and caches."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mini_attn.config import DecoderConfig
from mini_attn.errors import CacheOverflowError, ConfigError, DTypeError, ShapeError
from mini_attn.shapes import check_count, named_shapes
from mini_attn.torch.cache import KVCache
from mini_attn.torch.dtypes import dtype_of
from mini_attn.torch.heads import MultiHeadAttention
from mini_attn.torch.layers import MLP, GatedMLP, Linear, Norm

__all__ = ["Decoder", "DecoderLayer", "decode_step", "generate", "prefill"]


class DecoderLayer(nn.Module):
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
    >>> import torch
    >>> from mini_attn.config import AttentionConfig
    >>> config = DecoderConfig(64, 1, AttentionConfig(8, 2, 4), d_ff=16, max_positions=8)
    >>> DecoderLayer(config)(torch.zeros(1, 3, 8)).shape
    torch.Size([1, 3, 8])
    """

    def __init__(
        self, config: DecoderConfig, *, seed: int = 0, dtype: str = "float32", device: Any = None
    ) -> None:
        super().__init__()
        mlp = MLP if config.mlp == "plain" else GatedMLP
        self.attention_norm = Norm(
            config.d_model, config.norm, eps=config.eps, dtype=dtype, device=device
        )
        self.attention = MultiHeadAttention(config.attention, seed=seed, dtype=dtype, device=device)
        self.mlp_norm = Norm(
            config.d_model, config.norm, eps=config.eps, dtype=dtype, device=device
        )
        self.mlp = mlp(
            config.d_model,
            config.d_ff,
            activation=config.activation,
            bias=config.mlp_bias,
            seed=seed + 10,
            dtype=dtype,
            device=device,
        )

    def forward(
        self, x: Tensor, *, cache: KVCache | None = None, positions: Tensor | None = None
    ) -> Tensor:
        """Tokens (batch, q_len, d_model) to the same shape."""
        x = x + self.attention(self.attention_norm(x), cache=cache, positions=positions)
        return x + self.mlp(self.mlp_norm(x))


class Decoder(nn.Module):
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
    >>> import torch
    >>> from mini_attn.config import AttentionConfig
    >>> model = Decoder(DecoderConfig(64, 2, AttentionConfig(8, 2, 4), d_ff=16, max_positions=8))
    >>> model(torch.tensor([[3, 1, 4]])).shape
    torch.Size([1, 3, 64])
    """

    def __init__(
        self, config: DecoderConfig, *, seed: int = 0, dtype: str = "float32", device: Any = None
    ) -> None:
        super().__init__()
        self.config = config
        rng = torch.Generator().manual_seed(seed)

        def table(rows: int) -> nn.Parameter:
            drawn = 0.02 * torch.randn(rows, config.d_model, generator=rng)
            return nn.Parameter(drawn.to(device, dtype_of(dtype)))

        self.embed_tokens = table(config.vocab_size)
        if config.positions == "learned":
            self.embed_positions = table(config.max_positions)
        self.layers = nn.ModuleList(
            DecoderLayer(config, seed=seed + 100 * (i + 1), dtype=dtype, device=device)
            for i in range(config.n_layers)
        )
        self.final_norm = Norm(
            config.d_model, config.norm, eps=config.eps, dtype=dtype, device=device
        )
        if not config.tie_embeddings:
            self.lm_head = Linear(
                config.d_model, config.vocab_size, seed=seed + 1, dtype=dtype, device=device
            )

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

    def forward(
        self,
        tokens: Tensor,
        *,
        caches: list[KVCache] | None = None,
        positions: Tensor | None = None,
        last_only: bool = False,
    ) -> Tensor:
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
        x = F.embedding(tokens, self.embed_tokens)
        if self.config.positions == "learned":
            x = x + F.embedding(places.clamp(min=0), self.embed_positions)
        for i, layer in enumerate(self.layers):
            x = layer(x, cache=None if caches is None else caches[i], positions=positions)
        x = self.final_norm(x[:, -1] if last_only else x)
        return F.linear(x, self.embed_tokens) if self.config.tie_embeddings else self.lm_head(x)

    def _check(
        self, tokens: Tensor, caches: list[KVCache] | None, positions: Tensor | None
    ) -> Tensor:
        """Refuse what does not fit before any cache is touched; gives the positions."""
        sizes = named_shapes(tokens=(tokens, "batch seq"))
        if tokens.dtype not in (torch.int32, torch.int64):
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
        if positions is not None and positions.shape != tokens.shape:
            raise ShapeError(
                f"positions must be {tuple(tokens.shape)} as the tokens: {tuple(positions.shape)}"
            )
        first = 0 if not caches else caches[0].slots
        padded = bool(caches) and caches[0].has_padding
        if positions is None and padded:
            positions = caches[0].length[:, None] + torch.arange(sizes["seq"], device=tokens.device)
        # Without padding the last position is known on the host: no wait for the device.
        counted = positions is None
        last = first + sizes["seq"] - 1 if counted else int(positions.max())
        if self.config.positions == "learned" and last >= self.config.max_positions:
            raise CacheOverflowError(
                f"position {last} is beyond max_positions = {self.config.max_positions}"
            )
        return torch.arange(first, last + 1, device=tokens.device) if counted else positions


def prefill(
    model: Decoder, tokens: Tensor, caches: list[KVCache], *, lengths: Tensor | None = None
) -> Tensor:
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
    >>> import torch
    >>> from mini_attn.config import AttentionConfig
    >>> model = Decoder(DecoderConfig(64, 1, AttentionConfig(8, 2, 4), d_ff=16, max_positions=8))
    >>> prefill(model, torch.tensor([[3, 1, 4]]), model.new_caches(1, 8)).shape
    torch.Size([1, 64])
    """
    positions = None
    if lengths is not None:
        sizes = named_shapes(tokens=(tokens, "batch seq"), lengths=(lengths, "batch"))
        if lengths.min() < 1 or lengths.max() > sizes["seq"]:
            raise ConfigError(f"lengths must be 1 to seq = {sizes['seq']}, got {lengths}")
        if caches[0].slots:
            raise ConfigError("lengths pads the first chunk only: these caches hold tokens already")
        offset = sizes["seq"] - lengths[:, None]
        positions = (torch.arange(sizes["seq"], device=tokens.device) - offset).clamp(min=-1)
    return model(tokens, caches=caches, positions=positions, last_only=True)


def decode_step(model: Decoder, token: Tensor, caches: list[KVCache]) -> Tensor:
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
    >>> import torch
    >>> from mini_attn.config import AttentionConfig
    >>> model = Decoder(DecoderConfig(64, 1, AttentionConfig(8, 2, 4), d_ff=16, max_positions=8))
    >>> caches = model.new_caches(1, 8)
    >>> decode_step(model, torch.tensor([[3]]), caches).shape, caches[0].slots
    (torch.Size([1, 64]), 1)
    """
    if tuple(getattr(token, "shape", ()))[1:] != (1,):
        raise ShapeError(f"token must be (batch, 1), got {getattr(token, 'shape', token)!r}")
    return model(token, caches=caches, last_only=True)


def generate(
    model: Decoder,
    tokens: Tensor,
    *,
    max_new_tokens: int,
    caches: list[KVCache] | None = None,
    lengths: Tensor | None = None,
) -> Tensor:
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
    >>> import torch
    >>> from mini_attn.config import AttentionConfig
    >>> model = Decoder(DecoderConfig(64, 1, AttentionConfig(8, 2, 4), d_ff=16, max_positions=8))
    >>> generate(model, torch.tensor([[3, 1]]), max_new_tokens=3).shape
    torch.Size([1, 5])
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
        tokens = torch.cat([tokens, logits.argmax(dim=-1, keepdim=True)], dim=1)
    return tokens


def _check_room(
    model: Decoder, tokens: Tensor, max_new_tokens: int, caches: list[KVCache] | None
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
