"""What spans of tokens become: for each number a mean of its own, by gates."""

from __future__ import annotations

import torch
from torch import Tensor

from mini_attn.caching import Closed
from mini_attn.torch._module import wide


def span_means(values: Tensor, gates: Tensor, ends: Closed) -> Tensor:
    """Gated means (m, width) of spans whose tokens lie at ``ends.numbers``.

    Values and gates are (batch, series, seq, width); of a span that is not there nothing counts.
    """
    rows, numbers, there = (
        torch.as_tensor(array, device=values.device)
        for array in (ends.rows, ends.numbers, ends.there)
    )
    series = torch.arange(there.shape[1], device=values.device)[:, None]
    numbers = numbers.masked_fill(~there[..., None], 0)
    at = rows[:, None, None], series, numbers  # (m, series, compress)
    logits = wide(gates[at]).masked_fill(~there[..., None, None], -torch.inf)
    shares = logits.flatten(1, 2).softmax(dim=1)  # (m, series * compress, width)
    return (shares * values[at].flatten(1, 2)).sum(dim=1)
