"""Serving: many sequences on the blocks of one pool, a step of a scheduler at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from mini_attn.caching import BorrowedBlocks
from mini_attn.decoding import Serving
from mini_attn.torch._module import kind_of
from mini_attn.torch.caches.block_pool import BlockPool
from mini_attn.torch.caches.cache_paged import PagedKVCache
from mini_attn.torch.layers.decoder import Decoder

__all__ = ["Server"]


class _RentedKVCache(BorrowedBlocks, PagedKVCache):
    """The blocks of one sequence in one layer, for one step."""


class Server(Serving):
    """A decoder that continues many sequences, in blocks that a scheduler gives them.

    ``tokens of each sequence = those that generate would give it alone``

    Parameters
    ----------
    model : Decoder
        The decoder; its layers keep keys and values of every token.
    n_blocks : int
        Blocks of each layer.
    block_size : int
        Slots of a block.
    token_budget : int
        Tokens of a step at the most.
    stop_token : int, sequence of int or None
        Tokens that end a sequence before its limit.
    choose : callable (name, logits) -> int or None
        The next token of a sequence, from logits (vocab_size,); None takes the likeliest.

    Raises
    ------
    ConfigError
        If the model is no decoder of this backend, its layers keep something else than keys and
        values, a number is below 1, or a token is out of range.

    Notes
    -----
    The scheduler counts blocks once for all layers: a block's number is the same in each. It
    is asked for what waits, runs and has ended. Sequences whose beginning is known share its
    blocks and run the rest only; attention sees the whole.

    Each piece of a step runs as a batch of one, as its past is as long as no other's; a kernel
    that reads tables, like that of `paged_attention`, would run them together. After an error,
    or Ctrl-C, no sequence has moved, and the step can be run again.

    References
    ----------
    kwon2023pagedattention, section 4
    yu2022orca, section 3

    Examples
    --------
    >>> from mini_attn.config import AttentionConfig, DecoderConfig
    >>> from mini_attn.torch import Decoder
    >>> attention = AttentionConfig(d_model=8, n_heads=2, head_dim=4)
    >>> model = Decoder(DecoderConfig(16, 1, attention, d_ff=32, max_positions=8))
    >>> server = Server(model, n_blocks=4, block_size=2, token_budget=4)
    >>> server.add("a", [3, 1, 4], max_new_tokens=2)
    >>> server.add("b", [3, 1], max_new_tokens=1)
    >>> {name: len(tokens) for name, tokens in server.run().items()}
    {'a': 5, 'b': 3}
    """

    _decoder, _cache = Decoder, _RentedKVCache

    def _new_pool(self, n_blocks: int, block_size: int, sizes: Mapping[str, int]) -> BlockPool:
        kind = kind_of(self.model.embed_tokens.weight)
        return BlockPool(n_blocks, **sizes, block_size=block_size, **kind)

    @torch.no_grad()
    def _logits(self, tokens: Sequence[int], caches: Sequence[Any]) -> Tensor:
        prompt = torch.tensor([tokens], device=self.model.embed_tokens.weight.device)
        return self.model(prompt, caches=caches, last_only=True)[0]
