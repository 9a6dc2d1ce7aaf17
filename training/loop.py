"""The training loop: stopped anywhere, it goes on as if it had not been."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

import mini_attn.torch as mt
from mini_attn.errors import ConfigError
from mini_attn.stories import WORDS
from mini_attn.stories.members import LONGEST, MEMBERS
from training.data import Rows
from training.indexer import Indexers
from training.plan import Plan

__all__ = ["Training"]

EVERY = 60.0  # seconds between two states on the disk
CURVE = 200  # points of the loss curve
Model = Callable[[Tensor], Tensor]  # logits (rows, length, vocab) of rows of words
Told = Callable[[int, float, float], None]  # step, mean loss since the last, seconds left


def next_word_losses(model: Model, rows: Tensor) -> Tensor:
    """Nats of each word after the first, (rows, length - 1)."""
    return word_losses(model(rows[:, :-1]), rows)


def word_losses(logits: Tensor, rows: Tensor) -> Tensor:
    """The same from the logits of all words but the last."""
    return F.cross_entropy(logits.transpose(1, 2), rows[:, 1:], reduction="none")


def optimiser_of(model: mt.Decoder, rate: float, decay: float) -> torch.optim.AdamW:
    """AdamW that lets the matrices decay, and leaves the norms' gains alone."""
    groups: list[dict[str, Any]] = [
        {"params": [p for p in model.parameters() if p.ndim > 1]},
        {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=rate, weight_decay=decay)


def take_step(
    model: mt.Decoder,
    optimiser: torch.optim.AdamW,
    rows: Tensor,
    *,
    rate: float,
    clip: float,
    indexers: Indexers,
) -> float:
    """One step on a batch of rows; their mean loss before it."""
    for group in optimiser.param_groups:
        group["lr"] = rate
    loss = next_word_losses(model, rows).mean()
    optimiser.zero_grad()
    (loss + indexers.loss()).backward()  # type: ignore[no-untyped-call]
    for part in indexers.parts(model):
        torch.nn.utils.clip_grad_norm_(part, clip)
    optimiser.step()
    return float(loss.detach())


class Training:
    """A decoder, its optimizer and the step that it stands at.

    What a step does follows from the plan and the step's number alone, so that a state read from
    the disk goes on to the same weights, bit for bit on the same machine and threads.
    """

    def __init__(self, plan: Plan, *, state: Path, rows: Rows) -> None:
        self.plan, self.state, self.rows = plan, state, rows
        config = MEMBERS[plan.member].config(len(WORDS), plan.n_layers, plan.d_model)
        self.model = mt.Decoder(config, seed=1000 * plan.seed)
        self.indexers = Indexers(self.model)
        self.optimiser = optimiser_of(self.model, plan.rate, plan.decay)
        self.step, self.seconds = 0, 0.0
        self.curve: list[tuple[int, float]] = []  # tokens seen, mean loss since the last point
        self._sum, self._count = 0.0, 0
        if state.exists():
            self._read()

    def run(
        self,
        tell: Told | None = None,
        *,
        until: int | None = None,
        each: Callable[[int], None] = lambda step: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Train to the end of the plan, to a step, or until told to stop; whether it is done.

        The state is kept where it ends and now and then before: a step that is broken off by
        anything else is taken again from the last of them.
        """
        last = self.plan.steps if until is None else min(until, self.plan.steps)
        first, began, stood = self.step, time.monotonic(), self.seconds
        kept = began
        while self.step < last and not stop():
            self._one_step()
            each(self.step)
            now = time.monotonic()
            self.seconds = stood + now - began
            if self._at_point():
                self._note()
                if tell is not None:
                    left = (now - began) / (self.step - first) * (last - self.step)
                    tell(self.step, self.curve[-1][1], left)
            if now - kept > EVERY:
                self.keep()
                kept = now
        self.keep()
        return self.step == self.plan.steps

    def _one_step(self) -> None:
        plan = self.plan
        batch = torch.from_numpy(self.rows.take(self.step * plan.rows, plan.rows))
        self.indexers.choose(self.step / plan.steps)
        rule = {"rate": plan.rate_at(self.step), "clip": plan.clip}
        loss = take_step(self.model, self.optimiser, batch, **rule, indexers=self.indexers)
        self.step += 1
        self._sum, self._count = self._sum + loss, self._count + 1

    def _at_point(self) -> bool:
        """Return whether the curve gets a point at this step."""
        gap = max(1, self.plan.steps // CURVE)
        return self.step % gap == 0 or self.step == self.plan.steps

    def _note(self) -> None:
        tokens = self.step * self.plan.rows * LONGEST
        self.curve.append((tokens, self._sum / max(1, self._count)))
        self._sum, self._count = 0.0, 0

    def keep(self) -> None:
        """Write the state beside the old one and put it in its place."""
        self.state.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.state.with_suffix(".new")
        held = {
            "plan": asdict(self.plan),
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "progress": (self.step, self.seconds, self.curve, self._sum, self._count),
        }
        torch.save(held, fresh)
        os.replace(fresh, self.state)

    def _read(self) -> None:
        try:
            held: dict[str, Any] = torch.load(self.state, weights_only=True)
            if held["plan"] != asdict(self.plan):
                raise ConfigError(f"{self.state.name} is of another plan: {held['plan']}")
            self.model.load_state_dict(held["model"])
            self.optimiser.load_state_dict(held["optimiser"])
            self.step, self.seconds, curve, self._sum, self._count = held["progress"]
        except (OSError, RuntimeError, EOFError, LookupError, ValueError, UnpicklingError) as error:
            if isinstance(error, ConfigError):
                raise
            name = self.state.name
            raise ConfigError(f"{name} cannot be read: remove it to begin anew") from error
        self.curve = [tuple(point) for point in curve]
