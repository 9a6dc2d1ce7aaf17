"""What each rank does in the tests of tensor parallel; the tests compare what comes back."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import mini_attn.torch as mt
from mini_attn.config import DecoderConfig
from mini_attn.torch.parallel.ranks import Ranks
from mini_attn.torch.parallel.tensor import ShareDecoder, parallelize

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
        for name, prompt, more in (("greedy", tokens, {}), ("padded", padded, {"lengths": lengths})):
            caches = model.new_caches(2, 9 + NEW)
            asked = {"max_new_tokens": NEW, "caches": caches, **more}
            found[name] = mt.generate(model, prompt, **asked).numpy()
    return found


def split_answers(ranks: Ranks, config: DecoderConfig) -> dict[str, Any]:
    """The same of a rank's share, and which part of each weight that is."""
    share = parallelize(whole_model(config), ranks)
    return {**answers(share), "sent": ranks.sent}
