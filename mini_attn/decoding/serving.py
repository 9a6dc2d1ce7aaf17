"""A queue of sequences on the blocks of one pool for each layer, a step at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mini_attn.caching import Blocks, Scheduler, Step
from mini_attn.caching.scheduler import Piece, check_prompt
from mini_attn.config import check_stop
from mini_attn.decoding.generation import check_decoder
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count, size_text

__all__ = ["Serving"]


class Serving:
    """The sequences of a server: what is asked of a backend are pools, caches and logits.

    ``tokens of each sequence = those that generate would give it alone``
    """

    _decoder: type
    _cache: Callable[[Any, int], Any]  # (pool, batch) -> cache in blocks that are borrowed

    def __init__(
        self,
        model: Any,
        n_blocks: int,
        *,
        block_size: int = 16,
        token_budget: int = 64,
        stop_token: int | Sequence[int] | None = None,
        choose: Callable[[str, Any], int] | None = None,
    ) -> None:
        check_decoder(model, self._decoder)
        if choose is not None and not callable(choose):
            raise ConfigError(f"choose must be callable or None, got {choose!r:.60}")
        self.model, self.choose = model, choose
        self.scheduler = Scheduler(Blocks(n_blocks, block_size), token_budget=token_budget)
        self._stops = check_stop("stop_token", stop_token, model.config.vocab_size)
        self._pools: list[Any] = []
        for i in model.config.keeping_layers:
            layer = model.layers[i]
            sizes = getattr(layer.self_attn, "_cache_sizes", {})
            if "n_kv_heads" not in sizes:
                raise ConfigError(f"layer {i} keeps no keys and values, which blocks are made for")
            heads = ("n_kv_heads", "head_dim", "v_head_dim")
            more = ", ".join(name for name in sizes if name not in heads)
            if more:
                raise ConfigError(f"layer {i} keeps more than keys and values: it has {more}")
            self._pools.append(self._new_pool(n_blocks, block_size, sizes))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({size_text(self.scheduler._sizes())})"

    def _new_pool(self, n_blocks: int, block_size: int, sizes: Mapping[str, int]) -> Any:
        """Blocks of one layer, in the type of the model and where it lies."""
        raise NotImplementedError

    def _logits(self, tokens: Sequence[int], caches: Sequence[Any]) -> Any:
        """Return the logits (vocab_size,) after the last of a sequence's new tokens."""
        raise NotImplementedError

    def add(self, name: str, prompt: Sequence[int], *, max_new_tokens: int) -> None:
        """Add a sequence; it comes last and waits until a step admits it.

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
        """Begin a second sequence with the same tokens so far, in the same blocks.

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
        logits = self._run_pieces(step.pieces)
        chosen = {name: self._choice(name, last) for name, last in logits.items()}
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

    def _run_pieces(self, pieces: Sequence[Piece]) -> dict[str, Any]:
        """The pieces of a step; the logits of each sequence whose next token is wanted."""
        for piece in pieces:
            for source, own in piece.copies:
                self._copy(source, own)
        wanted = {}
        for piece in pieces:
            caches = self._step_caches(piece.table, piece.start)
            logits = self._logits(piece.tokens, caches)
            if piece.last:
                wanted[piece.name] = logits
        return wanted

    def _step_caches(self, table: tuple[int, ...], start: int) -> list[Any]:
        """For each layer the blocks of one sequence, the first slots of which are filled."""
        caches = [self._cache(pool, 1) for pool in self._pools]
        for cache in caches:
            cache._borrow(table, start)
        return caches

    def _copy(self, source: int, own: int) -> None:
        """The keys and values of a block, in every layer."""
        for pool in self._pools:
            pool._k[own], pool._v[own] = pool._k[source], pool._v[source]

    def _choice(self, name: str, logits: Any) -> int:
        """The next token of a sequence."""
        if self.choose is None:
            return int(logits.argmax())
        token = check_count("the chosen token", self.choose(name, logits), least=0)
        if token >= self.model.config.vocab_size:
            raise ConfigError(f"tokens lie in [0, {self.model.config.vocab_size}), got {token}")
        return token
