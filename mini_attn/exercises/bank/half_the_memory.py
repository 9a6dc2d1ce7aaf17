"""Open: where the bits should go."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="half_the_memory",
    page="bits",
    title="Half the memory",
    kind="open",
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="Measure more than one number",
    text="""
A service answers questions about long contracts. Its model has 8 billion weights in bfloat16, and
the cache of all running conversations takes about as much memory as the weights. Everything
together has to take half as much, without retraining the model. There are three proposals:

- the weights in 4 bits, the cache unchanged;
- the cache in 2 bits, keys and values alike, the weights unchanged;
- half of the weights set to zero.

Choose or combine, and defend your choice in eight to twelve sentences. Count all the bytes, scales
and zero points included, and say which measurement, on which texts, would change your mind.
""",
    rubric={
        "Counts the bytes, with scales and zeros, and sees which proposals reach one half.": 2,
        "Says why zeros alone save nothing, and what rounding does to keys and to values.": 2,
        "Names a measurement that fits contracts, where exact words far back matter.": 1,
    },
    hints=(
        "How many bits does a number take in each proposal, everything counted? What share of "
        "the whole is left?",
        "An average over a text hides what copying needs. What has to be copied here, and from "
        "how far back?",
    ),
    common_errors=(
        "Counting codes and forgetting scales.",
        "Taking a small change in the mean loss as proof that nothing was lost.",
    ),
)
