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
A colleague takes the factor $1/\sqrt{d_k}$ out of the code. "It costs a multiplication per score.
$W_q$ is trained anyway, so if the model needs a factor like that, it'll learn one."

Judge this claim in eight to twelve sentences. Say in what sense it's right and what happens in the
first steps of training with a 128-dimensional head. Then name a change after which your colleague
could leave the factor out.
""",
    rubric={
        "Says in what sense the claim is right: what a model without the factor can compute.": 1,
        (
            "Says how large scores are at the start without the factor, and what the softmax "
            "makes of them."
        ): 2,
        "Says what this does to the gradients, and whether learning can fix it.": 2,
        "Names a change after which the factor isn't needed.": 1,
    },
    hints=(
        (
            "Ask two questions. What could such a model compute? And what does it learn from "
            "random weights?"
        ),
        (
            "Take the variance of a sum of 128 products, then the softmax of such scores, then "
            "its slope w (1 − w)."
        ),
    ),
    common_errors=(
        "You claim that a model without the factor can't express the same functions.",
        "You stop at “the scores become large” and don't say what's bad about that.",
    ),
)
