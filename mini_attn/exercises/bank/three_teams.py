"""Open: which scaling rule for whom."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="three_teams",
    page="rope-scaling",
    title="Three teams, one rule",
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
manager wants *one* rule.

Say for each team which rule you would take on its own and why. Then answer the manager: is there
one rule for all, and what does it cost whom?
""",
    rubric={
        "Tells the rules apart by what they do to fast and to slow planes.": 2,
        "Sees what is special about team C, and what follows for its rule.": 2,
        "Answers the manager with a rule or a refusal, and names what it costs which team.": 1,
    },
    hints=(
        (
            "Ask of each rule: what happens to near distances, what to far ones, and does it "
            "need training?"
        ),
        (
            "For team C write down under which base a key was rotated when it went into the "
            "cache, and under which the query is that meets it."
        ),
    ),
    common_errors=(
        (
            "Choosing dynamic NTK for the chat because it leaves short texts alone, and "
            "forgetting the cache."
        ),
        "Choosing by fame, without saying what a rule does to which planes.",
    ),
)
