"""Open: what later layers can still read."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="used_up",
    page="model",
    title="Used up, or added to?",
    kind="open",
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="The residual stream",
    text="""
A colleague explains a decoder of three layers, 0 to 2, like this: "Each layer turns its input into
something more abstract. Layer 2 works with what layer 1 has made. What the token was at first, and
what layer 0 found, has been used up."

Correct this view in six to ten sentences. Then describe one experiment with such a trained decoder
whose result depends on which of you is right, and give both results.
""",
    rubric={
        "Says what a layer does to the stream, and what the input of a later layer consists of.": 2,
        "Says which layers can still read the early parts, and when they are really gone.": 1,
        (
            "Describes an experiment that tells the two views apart, with the result that each "
            "expects."
        ): 2,
    },
    hints=(
        "Write the input of layer 2 as a sum.",
        (
            "The unembedding is linear, up to the norm. What does it make of each addend "
            "alone? Or take one layer out."
        ),
    ),
    common_errors=(
        ("Saying that the early parts stay there forever. A layer can write their negative."),
        "An experiment that shows that a layer matters. It does under both views.",
    ),
)
