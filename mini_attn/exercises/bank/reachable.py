"""Open: how far a stack of windows sees, and what arrives."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="reachable",
    page="sliding-window",
    title="Reachable is not readable",
    kind="open",
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="How far a stack of layers sees",
    text="""
A decoder has three layers, each with a window of 4 keys, the token's own included. Sketch which
tokens can influence the output at position 12, and along which paths.

A colleague reads from your sketch how far the model "sees", and promises that it can repeat a name
from there word for word. Explain in five to eight sentences why reach doesn't imply recall, and
what a single layer without a window would change.
""",
    rubric={
        "Gets the reach right, and shows a path.": 2,
        "Explains what has to happen at the tokens in between, and when.": 2,
        "Says what a layer without a window changes.": 1,
    },
    hints=(
        (
            "How far back does one layer look from position 12? And from the token that you "
            "reach there?"
        ),
        (
            "Take the token in the middle of such a path. What did it know, when it was read, "
            "about what would be asked later?"
        ),
    ),
    common_errors=(
        "Counting four positions per layer. The token's own is one of the four.",
        "Saying that nothing from outside the window can arrive at all.",
    ),
)
