"""The predictions of the chapter on KV caching that count passes, scores and copies."""

from __future__ import annotations

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

GPT2 = MODELS["gpt2"]


def _passes() -> Question:
    n = 100
    without = cost.token_passes(1, n, cached=False)
    return Question(
        key="kv-cache/passes",
        text=f"A model writes {n} tokens from one start token, without a cache. Count 1 each time "
        "one token goes through the model: how many token passes does it make in all?",
        answer=without,
        unit="token passes",
        kind="sum",
        explanation=f"The first step runs one token through the model, the second two, the last "
        f"{n}: 1 + 2 + … + {n} = {n} × {n + 1} / 2 = {without:,}.",
        mistakes=(
            Mistake(
                cost.token_passes(1, n, cached=True),
                "That is the count with a cache: one pass a step. Without one, each step runs "
                "every token before it again.",
            ),
            Mistake(
                n * n,
                f"That counts {n} tokens in every step, but the early steps are short: step 1 has "
                "one token to run, step 2 has two.",
            ),
            Mistake(
                cost.copied_rows(n),
                "That adds up what is computed again and leaves out what is new: every step also "
                "runs one token for the first time.",
            ),
            Mistake(
                n * n // 2,
                f"Half of {n} × {n} leaves out half of the diagonal. The sum 1 + 2 + … + {n} is "
                f"{n} × {n + 1} / 2.",
            ),
            Mistake(
                cost.token_passes(1, n + 1, cached=False),
                "That is one step too many: the last token is chosen, but nothing is chosen "
                "after it, so it never runs.",
            ),
        ),
    )


def _score_shape() -> Question:
    heads, size, t = GPT2.n_heads, GPT2.head_dim, 100
    pairs = cost.visible_pairs(1, t)
    return Question(
        key="kv-cache/score-shape",
        text=f"GPT-2 has {heads} heads of {size}. In a cached step the new token is number {t} of "
        "one sequence. How many scores does one layer compute in this step?",
        answer=heads * pairs,
        unit="scores",
        kind="shape",
        explanation=f"The scores have the shape (batch, heads, q_len, kv_len) = "
        f"(1, {heads}, 1, {t}): one query row per head, one score for each key, its own included.",
        mistakes=(
            Mistake(
                heads * t * t,
                f"That is the full square, {t} queries by {t} keys. With a cache there is one "
                "query row: the past queries are not needed again.",
            ),
            Mistake(
                heads * cost.visible_pairs(t, t),
                "That is the causal half of the square, which a pass over all tokens computes. "
                "The cached step computes the last row of it.",
            ),
            Mistake(
                heads * (t - 1),
                "The new token also attends to itself: its key is appended before the scores are "
                "computed.",
            ),
            Mistake(t, f"That is one head. Each of the {heads} heads has scores of its own."),
            Mistake(
                heads,
                "That is one score per head. The new query meets every key in the cache, which is "
                "why a cached step still grows with the text.",
            ),
            Mistake(
                heads * t * size,
                f"`head_dim` = {size} is the axis that the dot product sums over; it does not "
                "remain in the scores.",
            ),
        ),
    )


def _copies() -> Question:
    n = 1000
    copied = cost.copied_rows(n)
    return Question(
        key="kv-cache/copies",
        text=f"A cache grows to {n:,} rows of keys, one row a step, by "
        "`k = np.concatenate([k, new_row])`. How many old rows are copied over all steps?",
        answer=copied,
        unit="rows",
        kind="sum",
        explanation=f"The step that appends row t copies the t − 1 rows before it, and "
        f"0 + 1 + … + {n - 1} = {n:,} × {n - 1} / 2 = {copied:,}.",
        mistakes=(
            Mistake(
                cost.copied_rows(n + 1),
                "That counts the new row of each step too. It is written once in any case; the "
                "question is about the old rows.",
            ),
            Mistake(
                n * n,
                f"That copies {n:,} rows in every step, but the cache is short at first: its "
                "average length is half of that.",
            ),
            Mistake(
                n * n // 2,
                "Close: half of the square splits the diagonal. The step that appends row t copies "
                "t − 1 rows, not t − ½.",
            ),
            Mistake(
                n,
                "That would be one row a step, which is what a preallocated cache writes. "
                "`np.concatenate` makes a new array and copies everything into it.",
            ),
            Mistake(
                n - 1,
                "That is the last step alone. Every step before it copied its own past as well.",
            ),
            Mistake(
                2 * copied,
                "That is keys and values together. The question asks for the rows of the keys.",
            ),
        ),
    )


ALL = (_passes(), _score_shape(), _copies())
