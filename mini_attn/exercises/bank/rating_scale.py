"""Open: what a softmax makes of another unit."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="rating_scale",
    page="start",
    title="The shop with the new stars",
    kind="open",
    minutes=12,
    difficulty=2,
    stage="transfer",
    assessed=False,
    section="Temperature",
    text="""
A shop rates its goods from 1 to 5 and shows each of them as often as a softmax of the ratings says.
Then it moves to a scale from 10 to 50: every rating times ten, "the same information". From that
day on, it almost always shows the same one.

Explain to the owner, in six to ten sentences, what happened. Say what would have happened if the
shop had *added* 10 to every rating instead. Then propose a one-line change after which the unit no
longer matters, and name one thing that your change costs.
""",
    rubric={
        (
            "Says what a softmax keeps of the scores, and what the new scale does to the ratio "
            "of two weights."
        ): 2,
        "Says what adding 10 would have done, and why.": 1,
        "Proposes a division that takes the unit out, and names something that it costs.": 2,
    },
    hints=(
        "What does a softmax keep of the scores, and what doesn't it see?",
        (
            "Write the ratio of two weights as an exponential, before and after. Then ask what to "
            "divide by."
        ),
    ),
    common_errors=(
        ("You say that large numbers overflow. Here they don't, and the weights changed anyway."),
        "You divide by the sum of the ratings, which depends on their zero point.",
    ),
)
