"""Find the bug: partial results whose log-sum-exps have another base."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.complaint import Complaint
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
A cache is split over devices. For one token, each device's kernel returns for each head an output,
`outs` `(ranks, n_heads, v_head_dim)`, and `lses` `(ranks, n_heads)`. The kernel's manual says that
`lses` are base-2 logarithms of the sum of exp(score). This function merges them and returns the
output `(n_heads, v_head_dim)` and its log-sum-exp `(n_heads,)`, a natural logarithm, for the next
merge. A device whose share of the cache is empty returns zeros and −inf; at least one isn't empty.
Short texts look fine. In long conversations, the model seems to forget what was said last. Repair
the function.
"""
STARTER = '''
def merged_ranks(outs, lses):
    """Merge partial outputs: (out, lse)."""
    top = lses.max(axis=0)
    parts = np.exp(lses - top)
    total = parts.sum(axis=0)
    out = (parts[..., None] * outs).sum(axis=0) / total[:, None]
    return out, top + np.log(total)
'''

Array = np.ndarray


def _split(rng: np.random.Generator, tokens: tuple[int, ...], heads: int, height: float) -> Inputs:
    """Make what devices with so many tokens return for a query."""
    outs, lses = [], []
    for n in tokens:
        scores = 2 * rng.standard_normal((heads, n)) + height
        values = rng.standard_normal((heads, n, 3))
        if not n:
            outs.append(np.zeros((heads, 3)))
            lses.append(np.full(heads, -np.inf))
            continue
        top = scores.max(axis=1, keepdims=True)
        weights = np.exp(scores - top)
        total = weights.sum(axis=1, keepdims=True)
        outs.append(np.einsum("hn,hnd->hd", weights / total, values))
        lses.append((top + np.log(total))[:, 0] / np.log(2))
    return {"outs": np.stack(outs), "lses": np.stack(lses)}


def _far_apart(inputs: Inputs) -> Inputs:
    """Heads with scores of different sizes."""
    heads = inputs["lses"].shape[1]
    return {**inputs, "lses": inputs["lses"] + 3000.0 * np.arange(heads)}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: sums of 8 and 2. The property: a long share beside a short one."""
    hand = {"outs": np.array([[[1.0, 0.0]], [[0.0, 5.0]]]), "lses": np.array([[3.0], [1.0]])}
    return {
        "by hand": [hand],
        "random": [_split(rng, (3, 5, 2), 4, 0.0), _split(rng, (6, 1), 3, 1.0)],
        "property": [_split(rng, (200, 4), 2, 0.0), _split(rng, (50, 50, 3), 3, 0.0)],
        "edges": [_split(rng, (4, 0, 5), 2, 0.0), _split(rng, (4, 5), 2, 2000.0),
                  _split(rng, (4, 5), 2, -2000.0), _split(rng, (6,), 2, 0.0),
                  _far_apart(_split(rng, (4, 5), 3, 0.0))],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """An output and a logarithm for each head."""
    _, heads, width = inputs["outs"].shape
    return {"out": ((heads, width), "f"), "lse": ((heads,), "f")}


def _merge(
    inputs: Inputs, *, base: float = 2.0, told: str = "natural", shares: str = "soft"
) -> dict[str, Array]:
    """Merge with powers of a base, and tell the logarithm in some way."""
    outs, lses = inputs["outs"], inputs["lses"]
    top = lses.max(axis=0)
    parts = base ** (lses - top)
    total = parts.sum(axis=0)
    share = parts / total
    if shares == "alike":
        share = np.full_like(share, 1 / len(share))
    elif shares == "largest":
        share = np.asarray(lses == top) / (lses == top).sum(axis=0)
    elif shares == "added":
        share = np.ones_like(share)
    lse = {
        "natural": np.log(2) * (top + np.log2(total)),
        "base 2": top + np.log2(total),
        "mixed": top + np.log(total),
        "top": np.log(2) * top,
        "divided": top / np.log(2) + np.log(total),
        "half": np.log(2) * top + np.log2(total),
    }[told]
    return {"out": (share[..., None] * outs).sum(axis=0), "lse": lse}


def right(inputs: Inputs) -> dict[str, Array]:
    """Powers of 2 for the shares, and a natural logarithm."""
    return _merge(inputs)


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"base": np.e, "told": "mixed"}, "You take powers of e of base-2 logarithms, so the device "
     "with the largest sum counts too much. The logarithm that you return has the same fault."),
    ({"base": np.e, "told": "natural"}, "You take powers of e of base-2 logarithms, so the device "
     "with the largest sum counts too much."),
    ({"told": "base 2"}, "Your output is right, but the logarithm that you return is still in "
     "base 2. The next merge expects a natural one."),
    ({"told": "mixed"}, "Your output is right. Your logarithm adds a base-2 logarithm and a "
     "natural one."),
    ({"told": "half"}, "Your output is right. Your logarithm adds a natural logarithm and one in "
     "base 2."),
    ({"told": "top"}, "Your output is right. Your logarithm only has the largest part."),
    ({"base": np.exp(1 / np.log(2)), "told": "divided"}, "You divide by ln 2 where you should "
     "multiply: the natural logarithm is the smaller one."),
    ({"base": 10.0}, "You took powers of 10. The logarithms are in base 2."),
    ({"shares": "alike"}, "You average the devices. Each counts by its part of the sum of "
     "exponentials."),
    ({"shares": "largest"}, "You take the output of the device with the largest sum alone."),
    ({"shares": "added"}, "You add up the outputs. On each device the weights already sum to 1."),
]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return the merge with one idea missing, or two; then what each says of the output alone."""
    with np.errstate(all="ignore"):
        both = with_pairs(partial(_merge, inputs), MISTAKES)
        lses = inputs["lses"]
        once = np.log(2) ** 2 * (
            lses.max(axis=0) + np.log2((2 ** (lses - lses.max(axis=0))).sum(0))
        )
        plain = 2.0**lses
        naive = (plain[..., None] * inputs["outs"]).sum(axis=0) / plain.sum(axis=0)[:, None]
    return [
        *both,
        ({"lse": once}, "You converted the returned logarithm twice."),
        ({"out": naive}, "Your exponentials of scores in the thousands overflow, or all vanish. "
         "Subtract the largest logarithm first."),
    ]  # fmt: skip


EXERCISE = Exercise(
    id="merged_ranks",
    page="devices",
    title="A merge over devices",
    kind="bug",
    groups={"edges": 4},
    minutes=10,
    difficulty=3,
    stage="transfer",
    assessed=True,
    section="Decode over a split cache",
    complaint=Complaint(
        "softmax",
        "In long conversations on several devices, the model seems to forget what was said last.",
        "[SGLang, issue 40903](https://github.com/sgl-project/sglang/issues/40903): a kernel's "
        "base-2 log-sum-exps were merged as natural logarithms, so a short last part got a fifth "
        "of its weight. vLLM had the same fault "
        "([pull request 28840](https://github.com/vllm-project/vllm/pull/28840)).",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "Two devices have sums of exponentials of 8 and 2. Which lses do they return, and what "
        "should the shares be?",
        "Bring the logarithms to one base before anything else. Then everything below can stay "
        "as it is.",
    ),
    common_errors=(
        "Repairing the shares, and returning a logarithm in base 2.",
        "Dividing by ln 2 instead of multiplying.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom={
        "out": "A device counts by its part of the sum of exponentials. Compute these sums from "
        "lses for the case by hand.",
        "lse": "The returned logarithm is the natural one of the sum of all exponentials.",
    },
)
