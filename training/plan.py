"""The training plan: one budget and one recipe for every member."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count
from mini_attn.stories.members import LONGEST, MEMBERS

__all__ = ["Plan", "cosine"]


def cosine(rate: float, done: float) -> float:
    """A learning rate on its way down to a tenth, after a part from 0 to 1 of the steps."""
    return rate * (0.55 + 0.45 * math.cos(math.pi * done))


@dataclass(frozen=True)
class Plan:
    """One training: which member, from which seed, on how many tokens.

    The recipe is AdamW with a cosine that ends at a tenth, after a short rise. No member has a
    recipe of its own: what one needs and another does not would be part of what they differ in.
    """

    member: str
    seed: int = 0
    tokens: int = 16_000_000
    n_layers: int = 2
    d_model: int = 64
    rows: int = 16  # of LONGEST tokens: a step's batch
    rate: float = 4e-3
    decay: float = 0.1
    warm: int = 100  # steps of the rise
    clip: float = 1.0  # longest gradient

    def __post_init__(self) -> None:
        if self.member not in MEMBERS:
            raise ConfigError(f"unknown member {self.member!r}: one of {', '.join(MEMBERS)}")
        check_count("seed", self.seed, least=0)
        for name in ("tokens", "n_layers", "d_model", "rows"):
            check_count(name, getattr(self, name))

    @property
    def name(self) -> str:
        """Name of its files."""
        return f"{self.member}-{self.n_layers}x{self.d_model}-s{self.seed}"

    @property
    def steps(self) -> int:
        """Steps of the optimizer, the last one whole."""
        return math.ceil(self.tokens / (self.rows * LONGEST))

    def rate_at(self, step: int) -> float:
        """The learning rate of a step."""
        warm = min(self.warm, self.steps // 10 + 1)
        if step < warm:
            return self.rate * (step + 1) / warm
        return cosine(self.rate, (step - warm) / max(1, self.steps - warm))
