"""The plans that have been trained, and the decoders of those whose weights are kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import mini_attn.torch as mt
from mini_attn.stories import WORDS, family
from mini_attn.stories.members import MEMBERS
from mini_attn.stories.rounding import restored, rounded
from mini_attn.weights import load_safetensors, to_numpy
from training.plan import Plan
from training.run import RESULTS, WEIGHTS, ships

__all__ = ["decoder_of", "digest_of", "plans"]


def plans() -> list[Plan]:
    """The plans that have been trained."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in RESULTS.glob("*.json")]
    whole = [Plan(**record["plan"]) for record in found if "plan" in record]
    order = list(MEMBERS)
    whole.sort(key=lambda plan: (plan.n_layers, plan.d_model, order.index(plan.member), plan.seed))
    return whole


def decoder_of(plan: Plan) -> mt.Decoder | None:
    """Its decoder, in eight bits as it would be shipped; None where its weights are not kept."""
    shipped = ships(plan)
    if shipped and plan.member in family.shipped():
        return family.load(plan.member, backend="torch").eval()
    path = WEIGHTS / f"{plan.name}.safetensors"
    if shipped or not path.exists():
        return None
    model = mt.Decoder(MEMBERS[plan.member].config(len(WORDS), plan.n_layers, plan.d_model))
    model.load_state_dict(restored(rounded(load_safetensors(path))))
    return model.eval()


def digest_of(model: mt.Decoder) -> str:
    """Twelve characters that change with any weight."""
    state: Mapping[str, Any] = to_numpy(model.state_dict())
    return sha256(b"".join(state[name].tobytes() for name in sorted(state))).hexdigest()[:12]
