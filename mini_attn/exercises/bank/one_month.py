"""Open: which change is worth the work."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="one_month",
    page="attention-cost",
    title="One month for one thing",
    kind="open",
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="What makes it cheaper",
    text="""
Your team trains a model of width 4,096 on sequences of 4,096 tokens. It uses standard attention,
which materializes the scores. You can spend one month on one thing:

- a fused kernel, which never materializes the scores;
- a sparse pattern, in which each token attends to 512 others;
- linear attention.

Choose one and defend it in eight to twelve sentences. First count what the pairs cost. Then say
what would have to change for you to choose differently.
""",
    rubric={
        "Counts the share of the pairs in the FLOPs of a layer.": 2,
        "Says for each of the three what it can save, and whether the model stays the same.": 2,
        "Names a situation that would change the choice, with a number or a reason.": 1,
    },
    hints=(
        "Pairs cost 4 n² d FLOPs and the weight matmuls 24 n d². Put the numbers in.",
        "Ask of each of the three: what does it save at most, and does the model stay the same?",
    ),
    common_errors=(
        "“Attention is quadratic, so the square has to go”, without a count.",
        "Saying that a fused kernel does fewer FLOPs.",
    ),
)
