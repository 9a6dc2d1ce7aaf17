"""Hugging Face's decoders in float64 throughout, and everything they must agree on.

Their classes compute norms, angles and routers in float32 whatever the model's dtype, so that a
comparison would end at 1e-6. Inside `wide` every such cast keeps float64.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import torch
import transformers
from transformers import modeling_rope_utils

import mini_attn.numpy as ma
import mini_attn.torch as mt
from mini_attn.weights import config_from_hf, from_hf

ATOL = 1e-9


class _Wide:
    """PyTorch as one of their modules sees it, with float64 under the names of float32."""

    float = float32 = torch.float64

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


@contextmanager
def wide(family: str) -> Iterator[None]:
    """Let float32 mean float64 where a family's code, or that of rotary rules, asks for it.

    Only in those modules: what another one looked up meanwhile, it would keep.
    """
    own = sys.modules[getattr(transformers, f"{family}ForCausalLM").__module__]
    with (
        mock.patch.object(own, "torch", _Wide()),
        mock.patch.object(modeling_rope_utils, "torch", _Wide()),
        mock.patch.object(torch.Tensor, "float", torch.Tensor.double),
        torch.no_grad(),
    ):
        yield


def built(family: str, options: dict[str, Any], seed: int) -> tuple[Any, dict[str, Any]]:
    """Return their decoder with weights in which nothing is trivial, and its file."""
    torch.manual_seed(seed)
    kind = getattr(transformers, f"{family}ForCausalLM").config_class
    described = kind(**copy.deepcopy(options))
    with wide(family):
        made = getattr(transformers, f"{family}ForCausalLM")(described)
        made = made.eval().double()
        made.set_experts_implementation("eager")  # the loop, which alone takes float64
        for name, weight in [*made.named_parameters(), *made.named_buffers()]:
            if weight.ndim == 1 and not name.endswith("inv_freq"):  # biases and gains
                weight.add_(0.3 * torch.randn_like(weight))
    return made, described.to_dict()


def compare(family: str, options: dict[str, Any], seed: int) -> float:
    """Assert that a prompt, chunks and steps give their logits in both backends.

    Returns the largest difference.
    """
    theirs, file = built(family, options, seed)
    config, state = config_from_hf(file), from_hf(theirs.state_dict(), file)
    draw = torch.Generator().manual_seed(seed)
    tokens = torch.randint(1, options["vocab_size"], (2, 23), generator=draw)
    with wide(family):
        expected = copy.deepcopy(theirs)(tokens).logits.numpy()
    assert np.abs(expected).max() > 0.5  # else the tolerance would say little
    largest = 0.0
    for module in (ma, mt):
        ours = module.Decoder(config, dtype="float64")
        ours.load_state_dict({n: w.numpy() for n, w in state.items()} if module is ma else state)
        given = tokens.numpy() if module is ma else tokens
        for chunks in ((23,), (9, 1, 1, 5, 1, 1, 1, 3, 1), (2, 13, 8)):
            answers = _answers(ours, given, chunks)
            largest = max(largest, float(np.abs(answers - expected).max()))
            np.testing.assert_allclose(answers, expected, rtol=0, atol=ATOL)
    _compare_their_steps(family, theirs, tokens, expected)
    return largest


def _answers(ours: Any, tokens: Any, chunks: tuple[int, ...]) -> Any:
    """Return the logits of all tokens; of one chunk without a cache."""
    caches = ours.new_caches(2, 23) if len(chunks) > 1 else None
    ends = np.cumsum(chunks)
    with torch.no_grad():
        parts = [
            ours(tokens[:, end - size : end], caches=caches)
            for size, end in zip(chunks, ends, strict=True)
        ]
    return np.concatenate([np.asarray(part) for part in parts], axis=1)


def _compare_their_steps(family: str, theirs: Any, tokens: Any, expected: Any) -> None:
    """Their own cache gives what their whole pass gives, so that it is what steps are held to."""
    named = "cache_params" if family == "Mamba2" else "past_key_values"
    past, found = None, []
    with wide(family):
        for part in tokens.split([9, 1, 1, 12], dim=1):
            answer = theirs(part, **{named: past}, use_cache=True)
            past = getattr(answer, named)
            found.append(answer.logits)
    np.testing.assert_allclose(torch.cat(found, dim=1).numpy(), expected, rtol=0, atol=ATOL)
