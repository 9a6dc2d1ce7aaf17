"""Restrict the keys that a trained decoder reads, by an evicting cache or by a mask."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

import mini_attn.torch as mt
from mini_attn.torch.attention._visibility import Visibility
from mini_attn.torch.attention.dot_product import attend
from mini_attn.widgets.key_budget_data import FIRST, OBSERVE, policy_of
from training.loop import Model

__all__ = ["BUDGETS", "Holding", "Stream", "after_prompt"]

BUDGETS = (8, 16, 24, 32, 40, 48, 64, 128)
DRAWN = 7  # seed of the keys that stay by chance


@dataclass(frozen=True)
class Holding:
    """The earlier keys that a query reads, and how many; None means all."""

    policy: str
    budget: int | None = None

    @property
    def room(self) -> int:
        """The budget, where there is one."""
        assert self.budget is not None
        return self.budget

    @property
    def recent(self) -> int:
        """Newest keys that stay in any case: half, beside keys that are chosen."""
        if self.policy == "observed":
            return min(OBSERVE, self.room // 2)
        return {"heavy": self.room // 2, "random": self.room // 2, "best": 0}.get(
            self.policy, self.room - self.first
        )

    @property
    def first(self) -> int:
        """First tokens that stay."""
        return FIRST if self.policy == "first" else 0

    def told(self) -> dict[str, Any]:
        """Return the fields that a point has about it."""
        if self.policy == "all":
            return {"policy": "all", "budget": None, "recent": None, "first": None}
        told = {"policy": self.policy, "budget": self.room}
        return {**told, "recent": self.recent, "first": self.first}


def places(length: int) -> tuple[Tensor, Tensor]:
    """Return distances from query to key (length, length) and the keys' positions."""
    keys = torch.arange(length)
    return keys[:, None] - keys, keys


def drawn(n_heads: int, length: int) -> Tensor:
    """A lot for each key of each head, (1, n_heads, 1, length): the largest stay."""
    lots = torch.Generator().manual_seed(DRAWN)
    return torch.rand(1, n_heads, 1, length, generator=lots)


def mask_of(holding: Holding, scores: Tensor) -> Tensor:
    """Return the mask (batch, n_heads, length, length) that leaves a budget of earlier keys."""
    behind, keys = places(scores.shape[-1])
    if holding.policy == "all":
        return behind >= 0
    stay = (behind >= 0) & ((behind <= holding.recent) | (keys < holding.first))
    left = holding.room - holding.recent - holding.first
    if not left:
        return stay
    if holding.policy == "random":
        scores = drawn(scores.shape[1], len(keys)).expand(1, -1, len(keys), -1)
    older = behind > holding.recent  # of those the best, or those that were drawn
    best = scores.masked_fill(~older, -torch.inf).topk(min(left, len(keys))).indices
    chosen = torch.zeros_like(older).expand(scores.shape).scatter(-1, best, True)
    return stay | (chosen & older)


class Choosing(mt.GroupedQueryAttention):
    """A layer whose queries read what a mask says that comes from their own scores."""

    holding: Holding
    prompt: int | None = None  # words after which the cache forgets once; None: after each

    def _run(self, x: Tensor, steps: Any, cache: Any) -> Tensor:
        q, k, v = self._project_at(x, steps.tables)
        shared = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
        mask = mask_of(self.holding, q @ shared.transpose(2, 3))
        if self.prompt is not None:
            behind, keys = places(x.shape[1])
            asked = keys[:, None] < self.prompt  # the prompt itself reads all before it
            left = mask[..., self.prompt : self.prompt + 1, :]
            mask = (behind >= 0) & (asked | left | (keys >= self.prompt))
        mask = mask.expand(*q.shape[:3], k.shape[2])
        seen = Visibility(q.shape[2], k.shape[2], x.device, mask=mask)
        out = attend(q, k, v, seen, self._scale, None, None, self.sinks)
        return self.o_proj(mt.merge_heads(out))


def masked(model: mt.Decoder, holding: Holding, prompt: int | None = None) -> Model:
    """The decoder with layers that read in one pass what a cache would have left them."""
    made = deepcopy(model)
    for layer in made.layers:
        old: Any = layer.self_attn
        new = Choosing(old.config)
        new.load_state_dict(old.state_dict())
        new.holding, new.prompt = holding, prompt
        layer.self_attn = new
    return made


def evicting(model: mt.Decoder, holding: Holding, batch: int) -> list[Any]:
    """A cache for each layer that keeps a budget of keys."""
    one: Any = model.config.attentions[0]
    kind: dict[str, Any] = {
        "budget": holding.room,
        "policy": policy_of(holding.policy, holding.room),
    }
    sizes = batch, one.n_kv_heads, one.head_dim
    return [mt.EvictingCache(*sizes, **kind) for _ in range(model.config.n_layers)]


class Stream:
    """A decoder that reads its rows from a cache that forgets after each word.

    Where the keys that stay do not depend on weights, a mask in one pass says the same.
    """

    def __init__(self, model: mt.Decoder, holding: Holding) -> None:
        self.model, self.holding = model, holding
        self.by_mask: Model | None = None
        if holding.policy == "all":
            self.by_mask = model
        elif holding.policy != "heavy":
            self.by_mask = masked(model, holding)

    def __call__(self, tokens: Tensor) -> Tensor:
        """Logits (batch, length, vocab) of given rows."""
        if self.by_mask is not None:
            return self.by_mask(tokens)
        held = evicting(self.model, self.holding, len(tokens))
        return torch.cat(
            [self.model(one, caches=held) for one in torch.split(tokens, 1, dim=1)], dim=1
        )


def after_prompt(model: mt.Decoder, holding: Holding, prompt: int) -> Model:
    """A decoder whose cache forgets once, after the prompt, and then keeps what comes."""
    if holding.policy == "all":
        return model
    if holding.policy == "random":
        return masked(model, holding, prompt)

    def read(tokens: Tensor) -> Tensor:
        held = evicting(model, holding, len(tokens))
        parts = tokens[:, :prompt], tokens[:, prompt:]  # of the second nothing is forgotten
        return torch.cat([model(part, caches=held) for part in parts], dim=1)

    return read
