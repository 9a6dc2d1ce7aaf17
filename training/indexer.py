"""Teach indexers which entries matter: a choice has no gradient, so they have a loss of their own.

DeepSeek-V3.2 (its report, section 2.1.1) trains an indexer to follow the attention that it chooses
for: the weights of all heads are summed and normalized, and the Kullback-Leibler divergence of the
softmax of the indexer's scores from them is the indexer's loss. What goes into the indexer is
detached. So the indexer learns from this loss alone, and the decoder from the words alone.

There a trained model gets an indexer: first all else is frozen and every token is read; then the
choice is made, all learns, and the loss looks at the chosen tokens only. Here one run trains all
from the start. For three quarters of the steps every entry is read, for the last quarter those that
the indexer chooses, and the loss looks at all complete entries throughout: there are few. It is
taken on a quarter of the rows, which costs little time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

import mini_attn.torch as mt
from mini_attn.torch.layers._pass import begin_pass
from mini_attn.torch.layers.compressed import _beside
from mini_attn.torch.layers.indexed import indexer_scores

__all__ = ["Indexers", "divergence", "weights_and_scores"]

DENSE = 0.75  # part of the steps in which every entry is read
PART = 4  # of so many rows one counts in the loss


def weights_and_scores(layer: mt.CompressedAttention, x: Tensor) -> tuple[Tensor, Tensor]:
    """The weights of all complete entries over the heads, and the indexer's scores of them.

    Both are (batch, seq, entries). Weights sum to 1 where there is an entry, and are constants;
    scores are ``-inf`` where an entry is not complete, and only the indexer has a gradient.
    """
    whole = begin_pass(x, None, None)
    with torch.no_grad():
        asks, q = layer._queries(x, whole)
        k = layer._turn(layer.kv_norm(layer.kv_proj(x))[:, None], whole)
    found = layer._entries(x, k, whole, None)
    entries, index_entries = found.entries[0].detach(), found.entries[1][:, 0]
    seen = layer._seen(x.shape[1], found, whole)
    near = whole.visibility(q, k, found, None, layer.config.window).whole()
    assert seen is not None  # several queries
    both, mask = torch.cat([k, entries], dim=2), _beside(near, seen, k, entries)
    rule: dict[str, Any] = {"mask": mask, "sinks": layer.sinks, "return_weights": True}
    with torch.no_grad():
        weights = mt.scaled_dot_product_attention(q, both, both, **rule)[1]
    weights = weights[..., k.shape[2] :].sum(dim=1)
    weights = weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-30)
    asked, counts = layer.compressor.indexer._asked(x, asks, whole)
    return weights, indexer_scores(asked, index_entries, counts).masked_fill(~seen[0], -torch.inf)


def divergence(weights: Tensor, scores: Tensor) -> Tensor:
    """Mean Kullback-Leibler divergence, in nats, of the scores' softmax from the weights.

    ``mean(sum(weights * (log(weights) - log_softmax(scores))))``

    Queries before the first complete entry are left out.
    """
    some = scores.isfinite().any(dim=-1)
    weights, scores = weights[some], scores[some]
    told = scores.log_softmax(dim=-1).masked_fill(scores.isinf(), 0.0)
    return (torch.xlogy(weights, weights) - weights * told).sum(dim=-1).mean()


class Indexers:
    """The indexers of a decoder, their loss, and whether they choose; maybe there are none."""

    def __init__(self, model: mt.Decoder) -> None:
        layers: list[Any] = [layer.self_attn for layer in model.layers]
        layers = [layer for layer in layers if isinstance(layer, mt.CompressedAttention)]
        self.layers = [layer for layer in layers if layer.config.index_topk is not None]
        self._own = [layer.config for layer in self.layers]
        self._inputs: dict[nn.Module, Tensor] = {}
        for layer in self.layers:
            layer.register_forward_pre_hook(self._note)

    def _note(self, layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        self._inputs[layer] = inputs[0][::PART].detach()

    def choose(self, done: float) -> None:
        """Let every entry be read, or the chosen ones, after a part from 0 to 1 of the steps."""
        for layer, own in zip(self.layers, self._own, strict=True):
            layer.config = own if done >= DENSE else replace(own, index_topk=10**6)

    def loss(self) -> Tensor:
        """The sum of their divergences on what the decoder read last; 0 without any."""
        read = [weights_and_scores(layer, self._inputs.pop(layer)) for layer in self.layers]
        return sum((divergence(*each) for each in read), torch.zeros(()))

    def parts(self, model: mt.Decoder) -> Iterator[list[nn.Parameter]]:
        """The decoder's parameters without them, and theirs: each has a longest gradient."""
        names = [name for name, _ in model.named_parameters() if ".indexer." in name]
        yield [p for name, p in model.named_parameters() if name not in names]
        yield [p for name, p in model.named_parameters() if name in names]
