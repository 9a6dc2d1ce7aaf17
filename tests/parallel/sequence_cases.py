"""What each process computes of attention whose tokens are split; NumPy arrays in and out."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from mini_attn.torch.parallel.ranks import Ranks
from mini_attn.torch.parallel.sequence import ring_attention, shard_positions, ulysses_attention

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
    n = arrays["q"].shape[2]
    own = shard_positions(n, ranks, order)
    mine = {name: torch.from_numpy(array)[:, :, own] for name, array in arrays.items()}
    asked = [mine[name].clone().requires_grad_() for name in "qkv"]
    options = {**options}
    if "sinks" in options:
        options["sinks"] = torch.from_numpy(options["sinks"]).requires_grad_()
    if positions is not None:
        options["positions"] = torch.from_numpy(positions)[..., own]
    out = SCHEMES[scheme](*asked, ranks=ranks, order=order, **options)
    sent = ranks.sent.values[KINDS[scheme]]
    out.backward(mine["d_out"])
    found: dict[str, Any] = {"own": own.numpy(), "out": out.detach().numpy(), "sent": sent}
    found |= {f"d_{name}": x.grad.numpy() for name, x in zip("qkv", asked, strict=True)}
    found["sent_back"] = ranks.sent.values[KINDS[scheme]] - sent
    if "sinks" in options:
        found["d_sinks"] = ranks.all_reduce(options["sinks"].grad).numpy()
    return found


def whole(found: list[dict[str, Any]], name: str) -> Any:
    """The rows of all ranks in the order of the tokens."""
    order = np.argsort(np.concatenate([part["own"] for part in found]))
    return np.concatenate([part[name] for part in found], axis=2)[:, :, order]
