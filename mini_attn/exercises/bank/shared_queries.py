"""Open: why keys and values are what is shared."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="shared_queries",
    page="mqa-gqa",
    title="Share the queries instead",
    kind="open",
    minutes=15,
    difficulty=3,
    stage="invent",
    assessed=True,
    section="What sharing shrinks, and what it doesn't",
    text="""
A layer has 32 heads of dimension 128. Grouped-query attention would keep 32 query heads and share 8
heads of keys and values. A colleague proposes the mirror image: keep 32 heads of keys and values,
and let each of 8 query heads serve four of them. "It saves parameters too, and every head still has
its own keys."

Compare the two: the cache, the time of a decode step, the parameters, and what the heads can do.
End with a verdict, and with the best case for your colleague's idea.
""",
    rubric={
        "Compares the caches, with the reason.": 2,
        "Says what follows for the time of a decode step.": 1,
        "Compares the parameters, matrix by matrix.": 1,
        "Says something true in favor of the proposal.": 1,
    },
    hints=(
        "For query, key and value in turn: how long is it needed after its token was read?",
        "Go through W_q, W_k and W_v and count what each of the two layers needs.",
    ),
    common_errors=(
        "Counting parameters alone.",
        "Thinking that shared queries leave only 8 patterns. The keys differ.",
    ),
)
