"""Serving: many sequences on the blocks of one pool, a step of a scheduler at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.caching import Blocks, BorrowedBlocks, Scheduler, Step
from mini_attn.caching.scheduler import check_prompt
from mini_attn.config import check_stop
from mini_attn.errors import ConfigError
from mini_attn.numpy.caches.block_pool import BlockPool
from mini_attn.numpy.caches.cache_paged import PagedKVCache
from mini_attn.numpy.layers.decoder import Decoder
from mini_attn.shapes import check_count, size_text

__all__ = ["Server"]

Array = NDArray[Any]


class _RentedKVCache(BorrowedBlocks, PagedKVCache):
    """The blocks of one sequence in one layer, for one step."""


class Server:
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
    >>> from mini_attn.numpy import Decoder
    >>> attention = AttentionConfig(d_model=8, n_heads=2, head_dim=4)
    >>> model = Decoder(DecoderConfig(16, 1, attention, d_ff=32, max_positions=8))
    >>> server = Server(model, n_blocks=4, block_size=2, token_budget=4)
    >>> server.add("a", [3, 1, 4], max_new_tokens=2)
    >>> server.add("b", [3, 1], max_new_tokens=1)
    >>> {name: len(tokens) for name, tokens in server.run().items()}
    {'a': 5, 'b': 3}
    """

    def __init__(
        self,
        model: Decoder,
        n_blocks: int,
        *,
        block_size: int = 16,
        token_budget: int = 64,
        stop_token: int | Sequence[int] | None = None,
        choose: Callable[[str, Array], int] | None = None,
    ) -> None:
        if not isinstance(model, Decoder):
            raise ConfigError(f"model must be a {Decoder.__module__}.Decoder, got {type(model)}")
        if choose is not None and not callable(choose):
            raise ConfigError(f"choose must be callable or None, got {choose!r:.60}")
        self.model, self.choose = model, choose
        self.scheduler = Scheduler(Blocks(n_blocks, block_size), token_budget=token_budget)
        self._stops = check_stop("stop_token", stop_token, model.config.vocab_size)
        dtype = model.embed_tokens.weight.dtype.name
        self._pools = []
        for i, layer in enumerate(model.layers):
            sizes = getattr(layer.self_attn, "_cache_sizes", {})
            if "n_kv_heads" not in sizes:
                raise ConfigError(f"layer {i} keeps no keys and values, which blocks are made for")
            more = ", ".join(sizes.keys() - {"n_kv_heads", "head_dim", "v_head_dim"})
            if more:
                raise ConfigError(f"layer {i} keeps more than keys and values: it has {more}")
            self._pools.append(BlockPool(n_blocks, **sizes, block_size=block_size, dtype=dtype))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({size_text(self.scheduler._sizes())})"

    def add(self, name: str, prompt: Sequence[int], *, max_new_tokens: int) -> None:
        """A sequence that comes last; it waits until a step admits it.

        Parameters
        ----------
        name : str
            What it is called; no other may have been called so.
        prompt : sequence of int
            Its tokens, at least one.
        max_new_tokens : int
            Tokens after which it ends, at least one.

        Raises
        ------
        ConfigError
            If the name is taken, a token is out of range, the prompt is empty, the limit is
            below 1, or prompt and new tokens exceed all blocks or ``max_positions``.
        """
        config, prompt = self.model.config, check_prompt(prompt)
        if max(prompt) >= config.vocab_size:
            raise ConfigError(f"tokens lie in [0, {config.vocab_size}), got {max(prompt)}")
        longest = len(prompt) + check_count("max_new_tokens", max_new_tokens) - 1
        if config.positions != "none" and longest > config.max_positions:
            raise ConfigError(
                f"{len(prompt)} tokens and {max_new_tokens} new ones exceed max_positions = "
                f"{config.max_positions}"
            )
        self.scheduler.add(name, prompt, max_new_tokens=max_new_tokens)

    def fork(self, name: str, new: str) -> None:
        """A second sequence with the same tokens so far, in the same blocks.

        Parameters
        ----------
        name : str
            A sequence that has not ended.
        new : str
            What the second one is called; it counts as the one that came last.

        Raises
        ------
        ConfigError
            If there is no such sequence, it has ended, or the new name is taken.
        """
        self.scheduler.fork(name, new)

    def end(self, name: str) -> None:
        """End a sequence before its limit; it gives its blocks back.

        Parameters
        ----------
        name : str
            What it is called.

        Raises
        ------
        ConfigError
            If no sequence that waits or runs is called so.
        """
        self.scheduler.end(name)

    def step(self) -> Step:
        """Run one step of the scheduler.

        Returns
        -------
        Step
            What was run; without pieces if nothing is left.

        Raises
        ------
        CacheOverflowError
            If somebody else has taken the scheduler's blocks.
        """
        step = self.scheduler.plan()
        for piece in step.pieces:
            for source, own in piece.copies:
                self._copy(source, own)
        chosen = {}
        for piece in step.pieces:
            caches = self._step_caches(piece.table, piece.start)
            tokens = np.array([piece.tokens])
            logits = self.model(tokens, caches=caches, last_only=True)[0]
            if piece.last:
                chosen[piece.name] = self._choice(piece.name, logits)
        stopped = [name for name, token in chosen.items() if token in self._stops]
        self.scheduler.finish(step, chosen, ended=stopped)
        return step

    def run(self) -> dict[str, list[int]]:
        """Run steps until every sequence has ended.

        Returns
        -------
        dict of str to list of int
            Prompt and new tokens of each sequence that has ended, in that order.
        """
        scheduler = self.scheduler
        while scheduler.running or scheduler.waiting:
            self.step()
        return {name: scheduler.tokens(name) for name in scheduler.ended}

    def _step_caches(self, table: tuple[int, ...], start: int) -> list[_RentedKVCache]:
        """For each layer the blocks of one sequence, the first slots of which are filled."""
        caches = [_RentedKVCache(pool, 1) for pool in self._pools]
        for cache in caches:
            cache._borrow(table, start)
        return caches

    def _copy(self, source: int, own: int) -> None:
        """The keys and values of a block, in every layer."""
        for pool in self._pools:
            pool._k[own], pool._v[own] = pool._k[source], pool._v[source]

    def _choice(self, name: str, logits: Array) -> int:
        if self.choose is None:
            return int(logits.argmax())
        token = check_count("the chosen token", self.choose(name, logits), least=0)
        if token >= self.model.config.vocab_size:
            raise ConfigError(f"tokens lie in [0, {self.model.config.vocab_size}), got {token}")
        return token
