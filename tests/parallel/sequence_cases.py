"""What each process computes of attention whose tokens are split; NumPy arrays in and out."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import mini_attn.torch as mt
from mini_attn.config import DecoderConfig
from mini_attn.errors import MiniAttnError, RankError
from mini_attn.torch.attention._visibility import Visibility
from mini_attn.torch.attention.dot_product import attend
from mini_attn.torch.caches.cache import KVCache
from mini_attn.torch.parallel._ring import travel
from mini_attn.torch.parallel.ranks import Ranks
from mini_attn.torch.parallel.sequence import ring_attention, shard_positions, ulysses_attention
from mini_attn.torch.parallel.split_cache import SplitCache, split_caches
from tests.parallel.tensor_cases import NEW, TOKENS, whole_model

SCHEMES = {"ring": ring_attention, "ulysses": ulysses_attention}
KINDS = {"ring": "exchange", "ulysses": "all_to_all"}


def split_sequence(
    ranks: Ranks,
    scheme: str,
    order: str,
    arrays: dict[str, Any],
    options: dict[str, Any],
    positions: Any = None,
) -> dict[str, Any]:
    """One rank's rows of the output and of all gradients, and how many values it has sent."""
    ranks.sent.reset()
    n = arrays["q"].shape[2]
    own = shard_positions(n, ranks, order)
    mine = {name: torch.from_numpy(array)[:, :, own] for name, array in arrays.items()}
    asked = [mine[name].clone().requires_grad_() for name in "qkv"]
    options = {**options}
    if "sinks" in options:
        options["sinks"] = torch.from_numpy(options["sinks"]).requires_grad_()
    if positions is not None:
        options["positions"] = torch.from_numpy(positions)[..., own]
    if "values" in options:  # the first numbers of each key
        asked[2] = options.pop("values")
    out = SCHEMES[scheme](*asked, ranks=ranks, order=order, **options)
    sent = ranks.sent.values[KINDS[scheme]]
    out.backward(mine["d_out"])
    found: dict[str, Any] = {"own": own.numpy(), "out": out.detach().numpy(), "sent": sent}
    tensors = {name: x for name, x in zip("qkv", asked, strict=True) if not isinstance(x, int)}
    found |= {f"d_{name}": x.grad.numpy() for name, x in tensors.items()}
    found["sent_back"] = ranks.sent.values[KINDS[scheme]] - sent
    if "sinks" in options:
        found["d_sinks"] = ranks.all_reduce(options["sinks"].grad).numpy()
    return found


def whole(found: list[dict[str, Any]], name: str) -> Any:
    """The rows of all ranks in the order of the tokens."""
    order = np.argsort(np.concatenate([part["own"] for part in found]))
    return np.concatenate([part[name] for part in found], axis=2)[:, :, order]


def answers_with_caches(ranks: Ranks | None, config: DecoderConfig) -> dict[str, Any]:
    """What a decoder says with caches: split ones where there are ranks."""
    model, tokens = whole_model(config), torch.from_numpy(TOKENS)

    def new_caches() -> list[Any]:
        if ranks is None:
            return model.new_caches(2, 9 + NEW)
        return split_caches(model, ranks, 2, 9 + NEW)

    try:
        caches = new_caches()
    except MiniAttnError as error:
        return {"refused": str(error)}
    found: dict[str, Any] = {"bytes": [cache.allocated_bytes for cache in caches]}
    with torch.no_grad():
        parts = [model(piece, caches=caches) for piece in tokens.split([4, 1, 4], dim=1)]
        found["chunks"] = torch.cat(parts, dim=1).numpy()
        forks = [cache.fork() for cache in caches]
        for fork in forks:
            fork.reorder(torch.tensor([1, 1]))
            fork.crop(5)
        if ranks is not None:
            ranks.sent.reset()
        found["fork"] = mt.decode_step(model, tokens[:, :1], forks).numpy()
        found["sent"] = 0 if ranks is None else ranks.sent.values["all_gather"]
        found["original"] = mt.decode_step(model, tokens[:, :1], caches).numpy()
        lengths = torch.tensor([4, 9])
        padded = tokens.masked_fill(torch.arange(9) < 9 - lengths[:, None], 0)
        for name, prompt, more in (
            ("greedy", tokens, {}),
            ("padded", padded, {"lengths": lengths}),
        ):
            asked = {"max_new_tokens": NEW, "caches": new_caches(), **more}
            found[name] = mt.generate(model, prompt, **asked).numpy()
    return found


def merged_decode(ranks: Ranks, arrays: dict[str, Any]) -> dict[str, Any]:
    """The last token's attention over a cache that has taken all of them, in two appends."""
    ranks.sent.reset()
    q, k, v = (torch.from_numpy(arrays[name]) for name in "qkv")
    cache = SplitCache(KVCache(*k.shape[:2], 6, 24, v_head_dim=5, dtype="float64"), ranks)
    cache.append(k[:, :, :-1], v[:, :, :-1])
    held_k, held_v, positions = cache.append(k[:, :, -1:], v[:, :, -1:])
    visibility = Visibility(1, held_k.shape[2], q.device, ranks=ranks)
    out = attend(q[:, :, -1:], held_k, held_v, visibility, 6**-0.5)
    sent = ranks.sent.values["all_gather"]
    return {"out": out.numpy(), "positions": positions[0].numpy(), "sent": sent}


def order_of_sends(ranks: Ranks) -> list[str]:
    """What a rank does in turn: begin to send, use a block, wait for the next."""
    done: list[str] = []

    class Watched:
        def __init__(self, under_way: Any) -> None:
            self.under_way = under_way

        def wait(self) -> torch.Tensor:
            done.append("wait")
            return self.under_way.wait()

    class Watching:
        rank, size = ranks.rank, ranks.size

        def exchange(self, *given: Any, **to: Any) -> Any:
            done.append("send")
            return Watched(ranks.exchange(*given, **to))

    for source, block in travel(Watching(), torch.full((2,), float(ranks.rank)), 3):  # type: ignore[arg-type]
        done.append("use" if (block == source).all() else "wrong")
    return done


def rotated(ranks: Ranks, arrays: dict[str, Any], order: str) -> dict[str, Any]:
    """A rank's rows of attention whose queries and keys it rotates by its own positions."""
    own = shard_positions(arrays["q"].shape[2], ranks, order)
    q, k, v = (torch.from_numpy(arrays[name])[:, :, own] for name in "qkv")
    cos, sin = mt.rope_table(own, mt.rope_frequencies(6, theta=100.0), dtype="float64")
    q, k = (mt.apply_rope(x, cos, sin, layout="half") for x in (q, k))
    out = ring_attention(q, k, v, ranks=ranks, order=order, causal=True)
    return {"own": own.numpy(), "out": out.numpy()}


def disagreeing(ranks: Ranks, what: str) -> str:
    """What a rank hears that asks for something else than the others do."""
    q, odd = torch.zeros(1, 2, 4, 2), ranks.rank == 1
    options: dict[str, Any] = {"causal": True}
    if odd and what == "shapes":
        q = torch.zeros(1, 2, 6, 2)
    elif odd and what == "options":
        options["window"] = 2
    elif odd and what == "gradients":
        q = q.requires_grad_()
    try:
        ring_attention(q, q, q, ranks=ranks, **options)
    except RankError as error:
        return str(error)
    return ""


def interrupted_step(ranks: Ranks, config: DecoderConfig) -> dict[str, Any]:
    """A step in which the last rank raises in its last layer; what the caches hold then."""
    model, tokens = whole_model(config), torch.from_numpy(TOKENS)
    caches = split_caches(model, ranks, 2, 16)
    with torch.no_grad():
        model(tokens, caches=caches)
        before = [tuple(a.clone() for a in cache.view()) for cache in caches]
        if ranks.rank == ranks.size - 1:
            model.layers[-1].self_attn.register_forward_pre_hook(_fail)
        try:
            model(tokens[:, :2], caches=caches)
        except (KeyboardInterrupt, RankError) as error:
            ranks.report(error)
            ranks.close()
            kind = type(error).__name__
    alike = all(
        torch.equal(a, b)
        for cache, held in zip(caches, before, strict=True)
        for a, b in zip(cache.view(), held, strict=True)
    )
    return {"error": kind, "alike": alike, "slots": [cache.slots for cache in caches]}


def _fail(*_: Any) -> None:
    raise KeyboardInterrupt
