"""What each rank does in the tests of tensor parallel; the tests compare what comes back."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch

import mini_attn.torch as mt
from mini_attn import __version__
from mini_attn.config import DecoderConfig
from mini_attn.errors import RankError
from mini_attn.torch.parallel import tensor
from mini_attn.torch.parallel.ranks import Ranks
from mini_attn.torch.parallel.tensor import parallelize, read_share

TOKENS = np.random.default_rng(3).integers(0, 29, (2, 9))
NEW = 6  # tokens that are generated


def whole_model(config: DecoderConfig) -> mt.Decoder:
    """A decoder with weights large enough that every part of it matters."""
    model = mt.Decoder(config, dtype="float64")
    rng = np.random.default_rng(5)
    state = {k: rng.standard_normal(tuple(w.shape)) for k, w in model.state_dict().items()}
    model.load_state_dict(state)
    return model


def answers(model: Any) -> dict[str, Any]:
    """Whatever a decoder computes, as arrays."""
    tokens = torch.from_numpy(TOKENS)
    found: dict[str, Any] = {}
    logits = model(tokens)
    found["logits"] = logits.detach().numpy()
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
    model.zero_grad()
    loss.backward()
    found["gradients"] = {
        name: (torch.zeros_like(weight) if weight.grad is None else weight.grad).numpy()
        for name, weight in model.named_parameters()
    }
    with torch.no_grad():
        caches, parts = model.new_caches(2, 9), []
        for piece in tokens.split([4, 1, 3, 1], dim=1):
            parts.append(model(piece, caches=caches).numpy())
        found["chunks"] = np.concatenate(parts, axis=1)
        found["cache bytes"] = [cache.allocated_bytes for cache in caches]
        caches = model.new_caches(2, 9)
        found["prefill"] = mt.prefill(model, tokens[:, :-1], caches).numpy()
        found["step"] = mt.decode_step(model, tokens[:, -1:], caches).numpy()
        lengths = torch.tensor([4, 9])
        padded = tokens.masked_fill(torch.arange(9) < 9 - lengths[:, None], 0)
        for name, prompt, more in (
            ("greedy", tokens, {}),
            ("padded", padded, {"lengths": lengths}),
        ):
            caches = model.new_caches(2, 9 + NEW)
            asked = {"max_new_tokens": NEW, "caches": caches, **more}
            found[name] = mt.generate(model, prompt, **asked).numpy()
    return found


def split_answers(ranks: Ranks, config: DecoderConfig) -> dict[str, Any]:
    """The same of a rank's share, and which part of each weight that is."""
    share = parallelize(whole_model(config), ranks)
    return {**answers(share), **by_tokens(share)}


def by_tokens(share: Any) -> dict[str, Any]:
    """Some of it with a share of the tokens on each rank; the prompt's don't split evenly."""
    share.sequence_parallel, tokens, caches = True, torch.from_numpy(TOKENS), share.new_caches(2, 9)
    with torch.no_grad():
        found = {"by tokens: logits": share(tokens).numpy()}
        found["by tokens: prefill"] = mt.prefill(share, tokens[:, :-1], caches).numpy()
        assert share._stream.tokens == 8
        found["by tokens: step"] = mt.decode_step(share, tokens[:, -1:], caches).numpy()
        assert share._stream.tokens is None
    return found


def sent_by_a_step(
    ranks: Ranks, config: DecoderConfig, tokens: int, sequence_parallel: bool = False
) -> Any:
    """What one prefill sends."""
    share = parallelize(whole_model(config), ranks, sequence_parallel=sequence_parallel)
    ranks.sent.reset()
    with torch.no_grad():
        share(torch.zeros(1, tokens, dtype=torch.long), last_only=True)
    return ranks.sent


def collectives(ranks: Ranks) -> dict[str, Any]:
    """Every collective once, with its gradient where it has one."""
    rank, size = ranks.rank, ranks.size
    found: dict[str, Any] = {}
    ranks.sent.reset()
    begun = ranks._log.step
    weight = torch.arange(2.0 * size).reshape(size, 2) + 1
    for name, talk in (
        ("all_reduce", ranks.all_reduce),
        ("copy", ranks.copy),
        ("all_gather", lambda x: ranks.all_gather(x, 1)),
        ("all_gather, added", lambda x: ranks.all_gather(x, 1, add_gradients=True)),
        ("all_to_all", lambda x: ranks.all_to_all(x, 0, 1)),
    ):
        x = (torch.arange(2.0 * size).reshape(size, 2) + 10 * rank).requires_grad_()
        y = talk(x)
        scale = torch.arange(y.numel()).reshape(y.shape) * (rank + 1.0)
        (y * scale).sum().backward()
        assert x.grad is not None
        found[name] = y.detach().numpy(), x.grad.numpy()
    found["broadcast"] = ranks.broadcast(weight + rank, size - 1).numpy()
    neighbors = {"send_to": (rank + 1) % size, "receive_from": (rank - 1) % size}
    under_way = ranks.exchange(weight[: rank + 1], **neighbors, shape=((rank - 1) % size + 1, 2))
    found["exchange"] = under_way.wait().numpy()
    found["alone"] = ranks.exchange(weight, send_to=rank, receive_from=rank).wait().numpy()
    ranks.barrier()
    return {**found, "sent": ranks.sent, "steps": ranks._log.step - begun}


# ---- Faults ----


class Injected(Exception):
    """What a case raises on purpose."""


def _states(caches: list[Any]) -> list[Any]:
    """All that caches show."""
    return [(c.slots, *(array.clone() for array in c.view())) for c in caches]


def _same(a: list[Any], b: list[Any]) -> bool:
    return all(
        torch.equal(x, y) if isinstance(x, torch.Tensor) else x == y
        for one, other in zip(a, b, strict=True)
        for x, y in zip(one, other, strict=True)
    )


def fault(ranks: Ranks, config: DecoderConfig, kind: str, who: int, at: int) -> dict[str, Any]:
    """A step in which something happens to one rank as it begins its collective number ``at``.

    What comes back is the error, whether the caches are as they were, and how long it took.
    """
    share, begin = parallelize(whole_model(config), ranks), Ranks._begin
    tokens = torch.from_numpy(TOKENS)
    caches = share.new_caches(2, 9)
    with torch.no_grad():
        share(tokens[:, :5], caches=caches)
    first, places = ranks._log.step, None

    def faulty(self: Ranks, what: str) -> int:
        if self.rank == who and self._log.step == first + at:
            if kind == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if kind == "raise":
                raise Injected("on purpose")
            if kind == "interrupt":
                raise KeyboardInterrupt
            if kind == "hang":
                time.sleep(ranks.timeout + 4)  # longer than the others ask each other
        return begin(self, what)

    if ranks.rank == who and kind == "tokens":
        tokens = tokens + 1
    if ranks.rank == who and kind == "positions":
        places = torch.arange(6, 10)
    if ranks.rank == who and kind == "caches":
        for cache in caches:
            cache.crop(4)
    before, said, start = _states(caches), "", time.monotonic()
    Ranks._begin = faulty  # type: ignore[method-assign]
    try:
        with torch.no_grad():
            share(tokens[:, 5:], caches=caches, positions=places)
    except RankError as error:
        said = str(error)
    except BaseException as error:
        ranks.report(error)
        said = type(error).__name__
    finally:
        Ranks._begin = begin  # type: ignore[method-assign]
    took, over = time.monotonic() - start, bool(ranks._log.broken)
    if over:
        ranks.close()  # as the context manager does
    unchanged = _same(before, _states(caches))
    return {"said": said, "unchanged": unchanged, "took": took, "first": first, "over": over}


def slow(ranks: Ranks, seconds: float) -> list[float]:
    """Collectives in which one rank comes late."""
    if ranks.rank == 1:
        time.sleep(seconds)
    sums = ranks.all_reduce(torch.tensor([0.5, 1.0]))
    if ranks.rank == 0:
        time.sleep(seconds)
    asked = {"send_to": 1 - ranks.rank, "receive_from": 1 - ranks.rank}
    return [*sums.tolist(), float(ranks.exchange(sums, **asked).wait()[1])]


def backward_fault(ranks: Ranks, config: DecoderConfig, who: int) -> str:
    """A rank that raises between the forward and the backward pass."""
    share = parallelize(whole_model(config), ranks)
    loss = share(torch.from_numpy(TOKENS)).square().mean()
    if ranks.rank == who:
        ranks.report(Injected("before the backward pass"))
        ranks.close()
        return ""
    try:
        loss.backward()
    except RankError as error:
        return str(error)
    return "no error"


def exchange_fault(ranks: Ranks, who: int) -> tuple[str, float]:
    """A rank that raises and lives on while another waits for what it sends."""
    ranks.barrier()  # nobody leaves before all have found each other
    if ranks.rank == who:
        ranks.report(Injected("before the exchange"))
        ranks.close()
        return "", 0.0
    start, asked = time.monotonic(), {"send_to": who, "receive_from": who}
    try:
        ranks.exchange(torch.ones(3), **asked).wait()
    except RankError as error:
        return str(error), time.monotonic() - start
    return "no error", 0.0


def other_models(ranks: Ranks, config: DecoderConfig, what: str, who: int) -> str:
    """`parallelize` where one rank has something else."""
    model = whole_model(config)
    if ranks.rank == who:
        if what == "weights":
            with torch.no_grad():
                model.layers[0].self_attn.q_proj.weight[0, 0] += 2.0**-40
        if what == "configurations":
            model.config = replace(model.config, eps=1e-3)
        if what == "versions":
            tensor.__version__ = "0.0.1"
    try:
        own = what == "sequence_parallel" and ranks.rank == who
        parallelize(model, ranks, sequence_parallel=own)
    except RankError as error:
        return str(error)
    finally:
        tensor.__version__ = __version__
    return ""


def anonymous_memory() -> int:
    """Bytes of this process's own memory, pages of files left out."""
    with open("/proc/self/status", encoding="ascii") as status:
        (line,) = (line for line in status if line.startswith("RssAnon"))
    return 1024 * int(line.split()[1])


def read(ranks: Ranks, folder: str) -> dict[str, Any]:
    """Read a share, and say what it computes and how much memory that took."""
    before = anonymous_memory()
    share = read_share(folder, ranks)
    grown = anonymous_memory() - before
    held = sum(weight.numel() * weight.element_size() for weight in share.parameters())
    with torch.no_grad():
        return {"logits": share(torch.tensor([[3, 1, 4]])).numpy(), "grown": grown, "held": held}
