"""The predictions of the chapter on KV caching that count passes, scores and copies."""

from __future__ import annotations

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["AGAIN", "ALL"]

GPT2 = MODELS["gpt2"]


def _passes(n: int = 100) -> Question:
    without = cost.token_passes(1, n, cached=False)
    return Question(
        key="kv-cache/passes",
        text=f"A model writes {n} tokens from one start token, without a cache. Count one token "
        "pass each time a token goes through the model. How many token passes is that in all?",
        answer=without,
        unit="token passes",
        kind="sum",
        explanation=f"The first step runs one token through the model, the second two, the last "
        f"{n}: 1 + 2 + … + {n} = {n} × {n + 1} / 2 = {without:,}.",
        mistakes=(
            Mistake(
                cost.token_passes(1, n, cached=True),
                "You've counted the passes with a cache, one per step. Without a cache, each step "
                "runs every earlier token again.",
            ),
            Mistake(
                n * n,
                f"You've counted {n} tokens in every step. But the early steps are short: step 1 "
                "has one token to run, step 2 has two.",
            ),
            Mistake(
                cost.copied_rows(n),
                "You've counted what's computed again, but not what's new. Each step also runs one "
                "token for the first time.",
            ),
            Mistake(
                n * n // 2,
                f"Half of {n} × {n} leaves out half of the diagonal. The sum 1 + 2 + … + {n} is "
                f"{n} × {n + 1} / 2.",
            ),
            Mistake(
                cost.token_passes(1, n + 1, cached=False),
                "That's one step too many. The last token is chosen, but nothing comes after it, "
                "so it never runs.",
            ),
        ),
    )


def _attention_share() -> Question:
    n = 1000
    step = cost.matmul_flops(GPT2, q_len=1, kv_len=n)
    scores, attention = step["scores"], step["scores"] + step["weighted sum"]
    weights = sum(step.values()) - attention
    layer = attention / GPT2.n_layers
    whole = n * attention
    return Question(
        key="kv-cache/attention-share",
        text=f"In one cached step, GPT-2 has {n:,} keys and {n:,} values in each of its "
        f"{GPT2.n_layers} layers, {GPT2.d_model} dimensions wide over all heads. The new query "
        "meets every key, and its weights meet every value. The step's weight matmuls take "
        f"{weights / 1e6:.0f} MFLOP, whatever the length. What percentage of the step's FLOPs is "
        "attention? Guess first, then count. A multiply-add is 2 FLOPs.",
        answer=round(100 * attention / (weights + attention)),
        unit="percent",
        kind="share",
        tolerance=0.05,
        explanation=f"Scores take 2 × {n:,} × {GPT2.d_model} × {GPT2.n_layers} FLOPs, and the "
        f"weighted sum takes as many: {attention / 1e6:.1f} of {(weights + attention) / 1e6:.0f} "
        "MFLOP. A step does grow with the length, but GPT-2's weights dominate over its whole "
        f"context of {GPT2.max_context:,} tokens.",
        mistakes=(
            Mistake(
                round(100 * scores / (weights + scores)),
                "You've counted the scores, but not the weighted sum, which takes as many FLOPs. "
                "Or you've counted a multiply-add as one FLOP.",
            ),
            Mistake(
                round(100 * weights / (weights + attention)),
                "That's the weight matmuls. Take the other part.",
            ),
            Mistake(
                round(100 * attention / weights),
                "You've divided by the weight matmuls. Divide by the whole step.",
            ),
            Mistake(
                round(100 * layer / (weights + layer), 1),
                f"That's the attention of one layer. There are {GPT2.n_layers}.",
            ),
            Mistake(
                round(100 * whole / (weights + whole), 1),
                f"You've counted {n:,} queries. With a cache, a step has one.",
            ),
            Mistake(
                100 * 2 * attention // (weights + 2 * attention),
                "That's twice the attention. A multiply-add is 2 FLOPs, not 4.",
            ),
        ),
    )


def _copies(n: int = 1000) -> Question:
    row = cost.cache_bytes_per_token(GPT2, dtype_bytes=4)
    copied, ends = cost.copied_rows(n) * row, n * row
    return Question(
        key="kv-cache/copies",
        text=f"GPT-2's cache grows to {n:,} tokens in float32, one token per step. Each step does "
        "`k = np.concatenate([k, new_row])`, and the same for the values, in every layer. At the "
        f"end the cache takes {ends / 1e6:.1f} MB. How many bytes of old rows have been copied?",
        answer=copied,
        unit="bytes",
        kind="sum",
        tolerance=0.005,
        explanation=f"The step that appends token t copies the t − 1 before it, and 0 + 1 + … + "
        f"{n - 1} = {n:,} × {n - 1} / 2 tokens of {row:,} bytes make {copied / 1e9:.1f} GB. "
        f"That's about {n // 2:,} times the cache.",
        mistakes=(
            Mistake(
                ends,
                "That's the size of the final cache, written once. `np.concatenate` makes a new "
                "array in every step and copies everything into it.",
            ),
            Mistake(
                n * ends,
                "You've copied the full cache in every step. But it's short at first: its average "
                "length is half of that.",
            ),
            Mistake(
                copied / 2,
                "That's the keys, or the values. Both are copied.",
            ),
            Mistake(
                copied / GPT2.n_layers,
                f"That's one layer. There are {GPT2.n_layers}.",
            ),
            Mistake(
                cost.copied_rows(n),
                f"That's how many tokens are copied. Each takes {row:,} bytes.",
            ),
            Mistake(
                2 * ends,
                "You've copied the final cache once. Every step before it copied its own.",
            ),
        ),
    )


ALL = (_passes(), _attention_share(), _copies())
AGAIN = (
    _passes(60),
    _passes(200),
    _passes(40),
    _copies(600),
    _copies(2000),
    _copies(400),
)
