"""Open: what a causal mask tells of positions."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="mask_and_order",
    page="position",
    title="Does the mask know the order?",
    kind="open",
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="What the causal mask gives back",
    text="""
A colleague leaves all position encodings out of a decoder. "The causal mask already shows each
token exactly those before it, so the order is known."

How much of this is right? Say what a token can know from the mask alone in a model with one layer,
give two inputs that such a model can't tell apart at the last token, and explain what changes with
a second layer.
""",
    rubric={
        "Says what one layer can get from the mask.": 1,
        "Gives two inputs that one layer can't tell apart at the last token, and says why.": 2,
        "Explains what a second layer changes, and through which tokens.": 2,
    },
    hints=(
        (
            "The last token attends to a set of keys and values. What does the average know about "
            "their order?"
        ),
        (
            "In the second layer these keys and values are outputs of the first. Are they the "
            "same in both inputs?"
        ),
    ),
    common_errors=(
        "Two inputs whose last tokens differ. Any model can tell these apart.",
        "Concluding that a deep decoder without encodings is blind to order.",
    ),
)
