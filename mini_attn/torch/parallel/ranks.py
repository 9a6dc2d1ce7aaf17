"""The processes that compute together, and everything that they say to each other.

Each process is a *rank* and runs the same program. Whatever they exchange goes through the few
methods of `Ranks`, so that every value sent is counted, every wait ends, and an error says which
rank failed in which step.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import PrefixStore  # type: ignore[attr-defined]

from mini_attn.errors import ConfigError, DTypeError, RankError, ShapeError
from mini_attn.shapes import check_count, check_number
from mini_attn.torch.parallel._talk import (
    DIGEST,
    AllGather,
    AllReduce,
    AllToAll,
    Copies,
    digest,
    meet,
    named,
)

__all__ = ["Exchange", "Ranks", "Sent"]

_ROLL_CALL = 3.0  # seconds in which ranks tell each other what they know of a failure
_LOOK = 0.5  # seconds after which a waiting rank looks whether another has left word


@dataclass
class Sent:
    """What this rank has sent, by collective; the numbers are those of the ring algorithms.

    An all-reduce of n values sends ``2 * n * (P - 1) / P`` of them on each of P ranks, an
    all-gather ``P - 1`` times its own, an all-to-all ``(P - 1) / P`` of its own, a broadcast
    n on each rank but the last of its chain, an exchange all of its own.
    """

    calls: Counter[str] = field(default_factory=Counter)
    values: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)

    def add(self, kind: str, values: float, x: Tensor) -> None:
        """Count one collective."""
        values = int(values) if values == int(values) else values
        self.calls[kind] += 1
        self.values[kind] += values  # type: ignore[assignment]
        self.bytes[kind] += values * x.element_size()  # type: ignore[assignment]

    def reset(self) -> None:
        """Begin again at 0."""
        for counter in (self.calls, self.values, self.bytes):
            counter.clear()


@dataclass
class _Log:
    """How far a rank has come."""

    step: int = 0  # collectives begun
    broken: str = ""  # how the first failure was described


@dataclass(frozen=True)
class Ranks:
    """The processes of a group as one of them sees it: its number, theirs, and how they talk.

    Use `start` under ``torchrun``, or `of` for a group that exists. As a context manager it
    leaves the group at the end; a rank that raises then tells the others why.

    Parameters
    ----------
    group : torch.distributed.ProcessGroup
        Who takes part.
    rank, size : int
        This process's number in the group, and how many there are.
    device : torch.device
        Where this rank computes.
    timeout : float
        Seconds after which a collective that hasn't ended is an error.
    store : torch.distributed.Store or None
        Where ranks leave word of a failure; without it, an error can't name who caused it.
    sent : Sent
        Counts what this rank sends.

    Raises
    ------
    RankError
        From each method: if another rank has died, hangs or has raised. After that every further
        collective of these ranks fails at once.

    Notes
    -----
    Methods with a gradient: `all_reduce`, `copy`,
    `all_gather` and `all_to_all`. On GPUs a collective waits in its stream, and one that never
    ends is NCCL's watchdog's to end; there the message is its own.

    References
    ----------
    shoeybi2019megatron, section 3

    Examples
    --------
    >>> with Ranks.start(timeout=30.0) as ranks:  # doctest: +SKIP
    ...     total = ranks.all_reduce(torch.ones(3, device=ranks.device))
    """

    group: Any
    rank: int
    size: int
    device: torch.device
    timeout: float = 60.0
    store: Any = None
    sent: Sent = field(default_factory=Sent, compare=False)
    _log: _Log = field(default_factory=_Log, init=False, compare=False, repr=False)

    @classmethod
    def start(
        cls,
        *,
        timeout: float = 60.0,
        join_timeout: float = 300.0,
        device: Any = None,
        init_method: str = "env://",
    ) -> Ranks:
        """Join the group that ``torchrun`` has described in the environment.

        Parameters
        ----------
        timeout : float
            Seconds after which a collective that hasn't ended is an error.
        join_timeout : float
            Seconds that the others have to start.
        device : torch.device, str or None
            Where this rank computes; None takes the GPU of this process's number on its host,
            and the CPU where there is none.
        init_method : str
            Where the ranks meet, as in ``torch.distributed``.

        Returns
        -------
        Ranks
            All processes, by NCCL on GPUs and by gloo on CPUs.

        Raises
        ------
        ConfigError
            If the environment doesn't say who this is, or the timeout isn't above 0.
        RankError
            If the others don't come in time.
        """
        check_number("timeout", timeout, above=0)
        check_number("join_timeout", join_timeout, above=0)
        told = {name: os.environ.get(name, "") for name in ("RANK", "WORLD_SIZE")}
        if not all(text.isdigit() for text in told.values()):
            raise ConfigError(
                f"RANK and WORLD_SIZE must be numbers, got {told}: start the program by "
                "`torchrun --nproc-per-node=2 program.py`"
            )
        rank, size = int(told["RANK"]), int(told["WORLD_SIZE"])
        if device is None:
            local = int(os.environ.get("LOCAL_RANK", rank))
            device = f"cuda:{local}" if torch.cuda.is_available() else "cpu"
        device, limit = torch.device(device), timedelta(seconds=timeout)
        if device.type == "cuda":
            torch.cuda.set_device(device)
        store = meet(rank, size, init_method, timedelta(seconds=join_timeout))
        asked: dict[str, Any] = {"rank": rank, "world_size": size, "timeout": limit}
        try:
            backend = "nccl" if device.type == "cuda" else "gloo"
            dist.init_process_group(backend, store=PrefixStore("group", store), **asked)
        except RuntimeError as error:
            raise RankError(f"rank {rank} of {size} couldn't connect: {error}") from error
        return cls.of(dist.group.WORLD, device=device, timeout=timeout, store=store)

    @classmethod
    def of(
        cls, group: Any, *, device: Any = None, timeout: float = 60.0, store: Any = None
    ) -> Ranks:
        """Take the ranks of a process group, or of a mesh with one dimension.

        Parameters
        ----------
        group : torch.distributed.ProcessGroup or DeviceMesh
            Who takes part; of a mesh with several dimensions give one, ``mesh["tensor"]``.
        device : torch.device, str or None
            Where this rank computes; None takes the mesh's kind, or the CPU.
        timeout : float
            Seconds after which a collective that hasn't ended is an error.
        store : torch.distributed.Store or None
            Where ranks leave word of a failure.

        Returns
        -------
        Ranks
            As this process sees them.

        Raises
        ------
        ConfigError
            If a mesh has several dimensions, or this process is none of the group.
        """
        check_number("timeout", timeout, above=0)
        if hasattr(group, "get_group"):  # a DeviceMesh
            if group.ndim != 1:
                raise ConfigError(f"ranks are one dimension of a mesh, got {group.ndim}: name one")
            device = device if device is not None else group.device_type
            group = group.get_group()
        rank = dist.get_rank(group)
        if rank < 0:
            raise ConfigError("this process isn't in the group")
        home = torch.device("cpu" if device is None else device)
        return cls(group, rank, dist.get_world_size(group), home, timeout, store)

    def __enter__(self) -> Ranks:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None:
            self.report(error)
        self.close()

    def close(self) -> None:
        """Leave the group; whoever still waits for this rank gets an error instead."""
        self._log.broken = self._log.broken or "the ranks were closed"
        if self.group is not None and dist.is_initialized():
            dist.destroy_process_group(self.group)
        object.__setattr__(self, "group", None)  # the last reference closes the connections

    def report(self, error: BaseException) -> None:
        """Leave word for the others of what this rank raised, so that their errors name it."""
        if isinstance(error, RankError) or self._log.broken:
            return  # it has told them already
        self._log.broken = f"{type(error).__name__}: {error}"[:200]
        self._leave_word(f"raised {self._log.broken}")

    # ---- the collectives -------------------------------------------------------------------

    def all_reduce(self, x: Tensor) -> Tensor:
        """Add the tensors of all ranks; every rank gets the sum.

        Its gradient is passed on as it is, which is right where all ranks compute the same
        thing of the sum; `copy` is its counterpart where that begins.
        """
        return AllReduce.apply(x, self)  # type: ignore[no-untyped-call]

    def copy(self, x: Tensor) -> Tensor:
        """Give the tensor itself, the same on all ranks; gradients of all ranks are added."""
        return self.copies(x)[0]

    def copies(self, *given: Tensor) -> tuple[Tensor, ...]:
        """`copy` of several tensors, whose gradients are added in this order."""
        return Copies.apply(self, *given)  # type: ignore[no-untyped-call]

    def all_gather(self, x: Tensor, axis: int = 0, *, add_gradients: bool = False) -> Tensor:
        """Put the tensors of all ranks, which have one shape, side by side along an axis.

        The gradient is this rank's part of what it gets: right where every rank computes the
        same loss of the whole. With ``add_gradients`` it's the sum over the ranks' losses.
        """
        self._check_axis(x, axis)
        return AllGather.apply(x, self, axis, add_gradients)  # type: ignore[no-untyped-call]

    def all_to_all(self, x: Tensor, cut: int, join: int) -> Tensor:
        """Cut along one axis, send part i to rank i, and join what comes along another axis.

        The gradient goes the same way back.
        """
        for axis in (cut, join):
            self._check_axis(x, axis)
        if x.shape[cut] % self.size:
            raise ShapeError(
                f"axis {cut} has {x.shape[cut]} entries, which {self.size} ranks can't share evenly"
            )
        return AllToAll.apply(x, self, cut, join)  # type: ignore[no-untyped-call]

    def broadcast(self, x: Tensor, source: int = 0) -> Tensor:
        """Give every rank the tensor of one; the others' say shape and type. No gradient."""
        self._check_rank("source", source)
        out = x.detach().clone().contiguous()
        last = (source + self.size - 1) % self.size
        self.sent.add("broadcast", 0 if self.rank == last else out.numel(), out)
        asked = {"group": self.group, "group_src": source, "async_op": True}
        self._run("broadcast", lambda: dist.broadcast(out, **asked))
        return out

    def exchange(
        self, x: Tensor, *, send_to: int, receive_from: int, shape: tuple[int, ...] | None = None
    ) -> Exchange:
        """Begin to send a tensor to one rank and to receive one from another. No gradient.

        Parameters
        ----------
        x : tensor
            What goes out; leave it alone until `Exchange.wait` has returned.
        send_to, receive_from : int
            Ranks of the group.
        shape : tuple of int or None
            Of what comes; None means that of ``x``.

        Returns
        -------
        Exchange
            Its ``wait()`` gives the tensor that came, in the dtype of ``x``.

        Raises
        ------
        RankError
            If another rank has died, hangs or has raised; also from ``wait``.
        """
        self._check_rank("send_to", send_to)
        self._check_rank("receive_from", receive_from)
        step = self._begin("exchange")
        x = x.detach().contiguous()
        came = x.new_empty(x.shape if shape is None else shape)
        self.sent.add("exchange", 0 if send_to == self.rank else x.numel(), x)
        if send_to == receive_from == self.rank:
            came.copy_(x)
            return Exchange(self, step, [], x, came)
        both = ((dist.isend, x, send_to), (dist.irecv, came, receive_from))
        asked = [dist.P2POp(op, t, group=self.group, group_peer=to) for op, t, to in both]
        try:
            return Exchange(self, step, dist.batch_isend_irecv(asked), x, came)
        except RuntimeError as error:
            raise self._failure("exchange", step, error) from error

    def agree(self, value: Any, what: str | tuple[str, ...]) -> None:
        """Refuse to go on unless every rank has the same values.

        Parameters
        ----------
        value : tensor, or anything whose `repr` says all of it
            What must be equal; its digest of 32 bytes is sent.
        what : str, or tuple of str
            Its name in the error. With several names ``value`` is a tuple of as many values,
            which go in one message.

        Raises
        ------
        RankError
            On every rank alike, if two differ; it names the ranks that differ from rank 0. The
            ranks can go on after that.
        """
        names = (what,) if isinstance(what, str) else what
        told = b"".join(map(digest, (value,) if isinstance(what, str) else value))
        own = torch.frombuffer(bytearray(told), dtype=torch.uint8).to(self.device)
        every = self._gathered("agree", own).reshape(self.size, len(names), DIGEST)
        for i, name in enumerate(names):
            others = [j for j in range(self.size) if not torch.equal(every[j, i], every[0, i])]
            if others:
                raise RankError(
                    f"rank {self.rank} of {self.size}, step {self._log.step} (agree): the ranks' "
                    f"{name} differ: {named(others)} from rank 0. Give each rank the same"
                )

    def barrier(self) -> None:
        """Wait until every rank is here."""
        self._gathered("barrier", torch.zeros(1, dtype=torch.uint8, device=self.device))

    # ---- how they are run ------------------------------------------------------------------

    def _reduced(self, x: Tensor) -> Tensor:
        """`all_reduce` without a gradient."""
        out = x.detach().clone(memory_format=torch.contiguous_format)
        self.sent.add("all_reduce", 2 * out.numel() * (self.size - 1) / self.size, out)
        self._run("all_reduce", lambda: dist.all_reduce(out, group=self.group, async_op=True))
        return out

    def _gathered(self, kind: str, x: Tensor) -> Tensor:
        """The tensors of all ranks (size, *shape), without a gradient."""
        x = x.detach().contiguous()
        parts = [torch.empty_like(x) for _ in range(self.size)]
        self.sent.add(kind, x.numel() * (self.size - 1), x)
        asked: dict[str, Any] = {"group": self.group, "async_op": True}
        self._run(kind, lambda: dist.all_gather(parts, x, **asked))
        return torch.stack(parts)

    def _swapped(self, x: Tensor, cut: int, join: int) -> Tensor:
        """`all_to_all` without a gradient."""
        parts = torch.stack(x.detach().chunk(self.size, dim=cut))  # (size, ...)
        out = torch.empty_like(parts)
        self.sent.add("all_to_all", x.numel() * (self.size - 1) / self.size, x)
        asked: dict[str, Any] = {"group": self.group, "async_op": True}
        self._run("all_to_all", lambda: dist.all_to_all_single(out, parts, **asked))
        return torch.cat(list(out), dim=join)

    def _run(self, kind: str, begin: Callable[[], Any]) -> None:
        """Begin a collective and wait for its end, or raise what `_failure` makes of it."""
        step = self._begin(kind)
        try:
            self._await(begin())
        except RuntimeError as error:
            raise self._failure(kind, step, error) from error

    def _await(self, work: Any, *, look: bool = True) -> None:
        """Wait for the end, at most as long as agreed, and no longer than until somebody failed."""
        if work is None:
            return
        if self.device.type == "cuda":  # its stream waits; a time limit would stop the host
            work.wait()
            return
        end = time.monotonic() + self.timeout
        while True:
            left = end - time.monotonic()
            try:
                work.wait(timedelta(seconds=max(min(left, _LOOK) if look else left, 1e-3)))
                return
            except RuntimeError:
                if not look or left <= _LOOK or work.is_completed() or self._words(every=False):
                    raise

    def _begin(self, kind: str) -> int:
        """Return the number of a new step."""
        log = self._log
        if log.broken:
            raise RankError(
                f"rank {self.rank} of {self.size} can't begin a {kind}: these ranks ended at step "
                f"{log.step}, where {log.broken}. Start all of them again"
            )
        log.step += 1
        return log.step

    def _failure(self, kind: str, step: int, error: Exception) -> RankError:
        """Return what this rank says when a collective has failed, after asking the others."""
        if not self._log.broken:
            self._log.broken = f"a {kind} failed"
            self._leave_word(f"failed in step {step} ({kind})")
        cause = self._likely_cause()
        return RankError(
            f"rank {self.rank} of {self.size}, step {step} ({kind}): {cause}. "
            f"torch.distributed says: {str(error)[:200]}"
        )

    def _leave_word(self, text: str) -> None:
        """Write for the others what happened here; where nobody keeps the store, say nothing."""
        try:
            if self.store is not None:
                self.store.set(f"word/{self.rank}", text)
        except RuntimeError:  # the rank that kept the store has died
            return

    def _words(self, *, every: bool) -> dict[int, str]:
        """Read what other ranks have left word of: one of them, or every one."""
        words: dict[int, str] = {}
        for other in set(range(self.size)) - {self.rank}:
            if self.store is not None and self.store.check([f"word/{other}"]):
                words[other] = self.store.get(f"word/{other}").decode()
                if not every:
                    break
        return words

    def _likely_cause(self) -> str:
        """Ask which ranks raised, and which say nothing at all."""
        if self.store is None:
            return "another rank has died, hangs or has raised"
        end = time.monotonic() + _ROLL_CALL
        try:
            while True:
                words = self._words(every=True)
                raised = [f"rank {i} {word}" for i, word in words.items() if "raised" in word]
                if raised:
                    return "; ".join(raised)
                if len(words) == self.size - 1:
                    return "the connection between ranks broke, and all of them noticed"
                if time.monotonic() > end:
                    break
                time.sleep(0.02)
        except RuntimeError:
            return "the process that kept the ranks' store has died, most likely rank 0"
        silent = sorted(set(range(self.size)) - {self.rank} - set(words))
        return f"{named(silent)} didn't answer: dead, or hung for {self.timeout:g} s"

    def _check_rank(self, name: str, rank: int) -> None:
        """Refuse a number that's no rank."""
        check_count(name, rank, least=0)
        if rank >= self.size:
            raise ConfigError(f"{name} must lie in 0 … {self.size - 1}, got {rank}")

    def _check_axis(self, x: Tensor, axis: int) -> None:
        """Refuse what isn't a tensor, and an axis that it doesn't have."""
        if not isinstance(x, Tensor):
            raise DTypeError(f"x must be a tensor, got {type(x).__name__}")
        if not -x.ndim <= axis < x.ndim:
            raise ShapeError(f"x has {x.ndim} axes, there is no axis {axis}")


class Exchange:
    """A sending and a receiving under way."""

    def __init__(self, ranks: Ranks, step: int, works: list[Any], x: Tensor, came: Tensor) -> None:
        self._ranks, self._step, self._works = ranks, step, works
        self._x, self._came = x, came  # the sent one too: nobody may free it before the end

    def wait(self) -> Tensor:
        """Give the tensor that came, once both are through."""
        try:
            for work in self._works:
                self._ranks._await(work, look=False)  # a wait that ends breaks it
        except RuntimeError as error:
            raise self._ranks._failure("exchange", self._step, error) from error
        return self._came
