"""Open: which scaling method for whom."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="three_teams",
    page="rope-scaling",
    title="Three teams, one method",
    kind="open",
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="Which method when",
    text="""
Three teams use the same model, trained with a context of 8,192 tokens. Team A feeds it documents of
16,000 tokens and cannot train. Team B has long documents and a week of GPUs, and wants 65,536
tokens. Team C runs a chat whose conversations grow from ten tokens to 30,000, with a cache. Their
manager wants *one* scaling method.

Say for each team which method you'd choose for it alone, and why. Then answer the manager: is there
one method for all, and what does it cost whom?
""",
    rubric={
        "Tells the methods apart by what they do to fast and to slow planes.": 2,
        "Sees what's special about team C, and what follows for its method.": 2,
        "Answers the manager with a method or a refusal, and names what it costs which team.": 1,
    },
    hints=(
        (
            "Ask of each method: what happens to near distances, what to far ones, and does it "
            "need training?"
        ),
        (
            "For team C, write down the base a key was rotated with when it went into the "
            "cache, and the base of the query that meets it."
        ),
    ),
    common_errors=(
        (
            "Choosing dynamic NTK for the chat because it leaves short texts alone, and "
            "forgetting the cache."
        ),
        "Choosing by fame, without saying what a method does to which planes.",
    ),
)
