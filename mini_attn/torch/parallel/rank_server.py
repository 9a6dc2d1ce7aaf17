"""A server on several ranks: rank 0 has the requests and plans, every rank runs each step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

import torch

from mini_attn.caching.scheduler import Piece
from mini_attn.errors import ConfigError
from mini_attn.torch.decoding.serving import Server
from mini_attn.torch.parallel.tensor import ShareDecoder

__all__ = ["RankServer"]

_OVER = -1  # a message instead of a number of pieces: the run has ended
_PER_TOKEN = 16  # numbers of a message for each token that a step may run


class RankServer(Server):
    """A `Server` whose decoder is split over ranks: its requests and their tokens are rank 0's.

    ``tokens of each sequence = those of a Server with the whole decoder``

    Parameters
    ----------
    model : ShareDecoder
        This rank's share, from `parallelize` or `read_share`.
    n_blocks : int
        Blocks of each layer; on each rank they hold its own heads.
    block_size : int
        Slots of a block.
    token_budget : int
        Tokens of a step at the most.
    stop_token : int, sequence of int or None
        Tokens that end a sequence before its limit; rank 0's count.
    choose : callable (name, logits) -> int or None
        The next token of a sequence, from logits (vocab_size,), on rank 0; None takes the
        likeliest.

    Raises
    ------
    ConfigError
        If the model is no share of a decoder, or as in `Server`. Nothing has been sent then.
    RankError
        If the ranks' blocks or budgets differ. From a step: if another rank has died, hangs or
        has raised. No sequence has moved then, but these ranks can't go on.

    Notes
    -----
    `add`, `fork`, `end` and `step` are rank 0's, as is the scheduler, and send nothing that is
    refused. The other ranks call `run`, which follows rank 0 until its own `run` has ended. They
    wait ``ranks.timeout`` seconds for a step, so where there is nothing to do rank 0 calls `step`
    from time to time all the same.

    A step begins with one message of ``16 * token_budget + 1`` numbers from rank 0: tokens and
    blocks of each piece. Where tables are so long that they don't fit, the rest follows in a
    second one. Then each piece sends what a `ShareDecoder` sends. Tokens are chosen after the
    last collective: if ``choose`` raises, the others wait, and the step can be run again.

    With a share that was made with ``sequence_parallel``, pieces of at least as many tokens as
    there are ranks are split by tokens between blocks.

    A whole decoder over `SplitCache` isn't served: a split cache has no blocks.

    References
    ----------
    kwon2023pagedattention, section 4.6

    Examples
    --------
    >>> server = RankServer(parallelize(model, ranks), n_blocks=64)  # doctest: +SKIP
    >>> if ranks.rank == 0:  # doctest: +SKIP
    ...     server.add("a", [3, 1, 4], max_new_tokens=2)
    >>> server.run()  # doctest: +SKIP
    {'a': [3, 1, 4, 1, 5]}
    """

    def __init__(
        self,
        model: ShareDecoder,
        n_blocks: int,
        *,
        block_size: int = 16,
        token_budget: int = 64,
        stop_token: int | Sequence[int] | None = None,
        choose: Callable[[str, Any], int] | None = None,
    ) -> None:
        if not isinstance(model, ShareDecoder):
            raise ConfigError(
                f"model must be a ShareDecoder, got {type(model).__name__}: each rank serves the "
                "heads that parallelize gives it, and whole models over a SplitCache have no blocks"
            )
        sizes = {"block_size": block_size, "token_budget": token_budget}
        super().__init__(model, n_blocks, **sizes, stop_token=stop_token, choose=choose)
        self.ranks = model._ranks
        if self.ranks.rank:
            self.scheduler: Any = _Elsewhere(self.ranks.rank)
        self._room = _PER_TOKEN * token_budget
        told = n_blocks, block_size, token_budget
        self.ranks.agree(told, ("n_blocks", "block_size", "token_budget"))

    def run(self) -> dict[str, list[int]]:
        """Run steps until every sequence has ended; on other ranks than 0, follow.

        Returns
        -------
        dict of str to list of int
            On rank 0 prompt and new tokens of each sequence that has ended, in that order;
            nothing on the others.
        """
        if self.ranks.rank:
            while self._follow():
                pass
            return {}
        found = super().run()
        with self._reported():
            self._tell([_OVER])
        return found

    def _run_pieces(self, pieces: Sequence[Piece]) -> dict[str, Any]:
        with self._reported():
            if not self.ranks.rank:
                self._tell(_numbers(pieces))
            return super()._run_pieces(pieces)

    def _follow(self) -> bool:
        """Run what rank 0 runs next; whether there was anything."""
        with self._reported():
            numbers = self._tell()
        if numbers[0] == _OVER:
            return False
        self._run_pieces(_pieces(numbers))
        return True

    def _tell(self, numbers: Sequence[int] = ()) -> list[int]:
        """Give every rank the numbers of rank 0."""
        room, device = self._room, self.ranks.device
        head = torch.zeros(1 + room, dtype=torch.int64)
        first = torch.tensor([len(numbers), *numbers[:room]])
        head[: len(first)] = first
        total, *told = self.ranks.broadcast(head.to(device)).tolist()
        if total > room:
            rest = torch.zeros(total - room, dtype=torch.int64)
            if numbers:
                rest = torch.tensor(numbers[room:])
            told += self.ranks.broadcast(rest.to(device)).tolist()
        return told[:total]

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """Tell the others what is raised where they'd wait for this rank."""
        try:
            yield
        except BaseException as error:
            self.ranks.report(error)
            raise


class _Elsewhere:
    """Stands on the other ranks where rank 0 has its scheduler."""

    def __init__(self, rank: int) -> None:
        self._rank = rank

    def _sizes(self) -> dict[str, int]:
        return {"rank": self._rank}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ConfigError(
            f"rank {self._rank} has no {name}: rank 0 owns the requests and schedules, the others "
            "call run"
        )


def _numbers(pieces: Sequence[Piece]) -> list[int]:
    """Pieces of a step as whole numbers; names stay here, and so does what's wanted of them."""
    told = [len(pieces)]
    for piece in pieces:
        copies = list(chain(*piece.copies))
        told += [len(piece.tokens), piece.start, len(piece.table), len(copies)]
        told += [*piece.tokens, *piece.table, *copies]
    return told


def _pieces(numbers: Sequence[int]) -> list[Piece]:
    """Pieces of a step from those numbers."""
    left = iter(numbers)
    found = []
    for _ in range(next(left)):
        n_tokens, start, n_blocks, n_copies = islice(left, 4)
        tokens, table = tuple(islice(left, n_tokens)), tuple(islice(left, n_blocks))
        flat = tuple(islice(left, n_copies))
        copies = tuple(zip(flat[::2], flat[1::2], strict=True))
        found.append(Piece("", tokens, start, table, copies, last=False))
    return found
