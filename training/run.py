"""Train one member of the family, or all: ``make train MEMBER=mha SEED=0``.

Ctrl-C keeps the state; the same command goes on from it, to the same weights as without the
stop. At the end the measurements go to ``training/results`` and, for a plan of the shipped
size, seed and budget whose member ships, the weights in eight bits beside the package's stories.
The exact weights of every finished plan stay in ``.cache/training/weights``, for what is measured
on them later.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import signal
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import mini_attn.torch as mt
from benchmarks import machine
from mini_attn.errors import ConfigError
from mini_attn.stories import family, floor
from mini_attn.stories.fetching import note
from mini_attn.stories.members import LONGEST, MEMBERS
from mini_attn.stories.rounding import restored, rounded
from mini_attn.weights import save_safetensors, to_numpy
from tools import ROOT
from training.data import Rows
from training.loop import Training
from training.measure import measured
from training.plan import Plan

RESULTS = ROOT / "training/results"
CACHE = ROOT / ".cache/training"
WEIGHTS = CACHE / "weights"
FRAMES = CACHE / "frames"
FRAME = 50  # steps between two frames of the film
SHIPPED = Plan("mha")  # or another member that ships: a shorter training replaces no weights


class Stop:
    """Remembers Ctrl-C until the end of a step."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGINT, self._note)

    def _note(self, *_: Any) -> None:
        if self.asked:  # a second time: at once
            raise KeyboardInterrupt
        self.asked = True
        print("\n[train] stopping after this step; once more stops at once", flush=True)

    def __call__(self) -> bool:
        """Return whether Ctrl-C was pressed."""
        return self.asked


def written(path: Path, record: dict[str, Any]) -> None:
    """Put a result in its place once it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    os.replace(fresh, path)


def command(plan: Plan) -> str:
    """Return the command that trains it."""
    told = f"make train MEMBER={plan.member} SEED={plan.seed}"
    for name, option in (("tokens", "TOKENS"), ("n_layers", "LAYERS"), ("d_model", "WIDTH")):
        if (size := getattr(plan, name)) != getattr(SHIPPED, name):
            told += f" {option}={size}"
    return told


def ships(plan: Plan) -> bool:
    """Return whether the package gets the weights of a plan."""
    return MEMBERS[plan.member].ships and replace(plan, member=SHIPPED.member) == SHIPPED


def finished(training: Training, *, rows: int) -> dict[str, Any]:
    """The record of a training that has ended, with its loss before and after rounding."""
    plan, model = training.plan, training.model.eval()
    exact = measured(model, rows=rows)
    stored = rounded(to_numpy(model.state_dict()))
    coarse = mt.Decoder(model.config)
    coarse.load_state_dict(restored(stored))
    if ships(plan):
        family.FOLDER.mkdir(exist_ok=True)
        name = f"{plan.member}.safetensors"
        save_safetensors(family.FOLDER / name, stored)
        note(family.FOLDER, name)
    return {
        **machine.describe(),
        "command": command(plan),
        "plan": asdict(plan),
        "parameters": sum(p.numel() for p in model.parameters()),
        "seconds": training.seconds,
        "tokens": plan.steps * plan.rows * LONGEST,
        "curve": training.curve,
        "measured": exact,
        "measured_in_eight_bits": measured(coarse.eval(), rows=rows),
    }


@functools.cache
def floor_of(length: int) -> float:
    """The least mean loss on rows like those of the training, for one who knows the language."""
    return floor("mixture", length=length, rows=256).nats


def train(plan: Plan, stop: Stop, *, rows: int = 256) -> bool:
    """Train to the end, or until stopped; whether it is done."""
    result = RESULTS / f"{plan.name}.json"
    if result.exists():
        if json.loads(result.read_text(encoding="utf-8"))["plan"] != asdict(plan):
            raise ConfigError(f"{result.name} is of another plan: move it away to train this one")
        print(f"[train] {plan.name} is there: {result.relative_to(ROOT)}")
        return True
    training = Training(
        plan,
        state=CACHE / f"{plan.name}.pt",
        rows=Rows(LONGEST, plan.seed, CACHE / "rows"),
    )

    def film(step: int) -> None:
        if plan == SHIPPED and step % FRAME == 0:
            FRAMES.mkdir(parents=True, exist_ok=True)
            weights = rounded(to_numpy(training.model.state_dict()))
            save_safetensors(FRAMES / f"{step:05d}.safetensors", weights)

    least = floor_of(LONGEST)

    def tell(step: int, loss: float, left: float) -> None:
        print(f"[train] {plan.name}: step {step} of {plan.steps}, {loss:.3f} nats per word "
              f"(floor {least:.2f}), {left / 60:.1f} min left", flush=True)  # fmt: skip

    if not training.run(tell, stop=stop, each=film):
        print(f"[train] {plan.name} stopped at step {training.step}: the same command goes on")
        return False
    record = finished(training, rows=rows)
    WEIGHTS.mkdir(parents=True, exist_ok=True)
    save_safetensors(WEIGHTS / f"{plan.name}.safetensors", to_numpy(training.model.state_dict()))
    written(result, record)
    for kind in ("stories", "repeats"):
        loss, true = (record["measured"][kind][what]["nats"] for what in ("loss", "true"))
        print(f"[train] {plan.name}: {kind} {loss:.3f} nats per word, {true:.3f} at best")
    training.state.unlink()
    return True


def main() -> None:
    """Train what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("members", nargs="*", help=f"of {', '.join(MEMBERS)}; none means all")
    parser.add_argument("--seed", type=int, nargs="*", default=[0])
    parser.add_argument("--tokens", type=int, default=Plan.tokens)
    parser.add_argument("--layers", type=int, default=Plan.n_layers)
    parser.add_argument("--width", type=int, default=Plan.d_model)
    options = parser.parse_args()
    size = {"tokens": options.tokens, "n_layers": options.layers, "d_model": options.width}
    plans = [
        Plan(member, seed=seed, **size)
        for seed in options.seed
        for member in options.members or MEMBERS
    ]
    stop = Stop()
    sys.exit(not all(train(plan, stop) for plan in plans))


if __name__ == "__main__":
    main()
