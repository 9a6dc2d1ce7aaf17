"""Open: two explanations of one measurement."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="half_the_flops",
    page="matmul",
    title="Half the FLOPs, half the time",
    kind="open",
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="Predict, measure, explain the gap",
    text="""
You replace a weight matrix of 4,096 × 4,096 by the product of a 4,096 × 1,024 and a 1,024 × 4,096
matrix, applied one after the other. A colleague measures half the time, both with one row and with
512 rows, and concludes: "Half the FLOPs, half the time. So FLOPs decide."

The measurement is right. What's wrong with the conclusion? Explain the result for one row and for
512 rows. Then propose a measurement that can tell your explanation from your colleague's, and say
what each of you expects.
""",
    rubric={
        "Counts what the change does to each of the two costs of a product.": 2,
        "Explains the result for one row and for 512 rows, each by what limits it.": 2,
        (
            "Proposes a measurement that tells the two explanations apart, with both expected "
            "results."
        ): 2,
    },
    hints=(
        "Count what the change does to both costs of a product.",
        (
            "Look for a change that doubles the FLOPs and reads the same weights, or that reads "
            "fewer bytes for the same FLOPs."
        ),
    ),
    common_errors=(
        "Doubting the measurement.",
        "Proposing another factorization: it changes FLOPs and bytes together again.",
    ),
)
