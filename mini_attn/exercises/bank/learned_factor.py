"""Open: whether training can replace the scale of the scores."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="learned_factor",
    page="attention",
    title="The factor that could be learned",
    kind="open",
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="Why divide by the root",
    text=r"""
A colleague takes the factor $1/\sqrt{d_k}$ out of the code. "It is one multiplication for every
score. $W_q$ is trained anyway, so the model will learn a factor of that kind by itself if it needs
one."

Judge this claim in eight to twelve sentences: say in what sense it is right, what happens in the
first steps of training with a 128-dimensional head, and name a change with which your colleague
could do without the factor after all.
""",
    rubric={
        "Says in what sense the claim is right: what a model without the factor can compute.": 1,
        (
            "Says how large scores are at the start without the factor, and what the softmax "
            "makes of them."
        ): 2,
        "Says what this does to the gradients, and whether learning can mend it.": 2,
        "Names a change after which the factor is not needed.": 1,
    },
    hints=(
        (
            "Ask two questions: what could such a model compute, and what does it learn when it "
            "starts from random weights?"
        ),
        (
            "The variance of a sum of 128 products, then a softmax of such scores, then its "
            "slope w (1 − w)."
        ),
    ),
    common_errors=(
        "Claiming that the model without the factor cannot express the same functions.",
        "Stopping at “the scores become large” without saying what is bad about that.",
    ),
)
