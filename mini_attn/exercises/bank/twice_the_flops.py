"""Open: what a faster processor does for one user."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="twice_the_flops",
    page="decoding-roofline",
    title="Twice the FLOP/s",
    kind="open",
    minutes=12,
    difficulty=2,
    stage="transfer",
    assessed=False,
    section="The step-time bound",
    text="""
The head of your department wants answers in half the time and has found a device with twice the
FLOP/s, and the same memory with the same bytes/s. Today, one user at a time asks a model with 8
billion parameters. Prompts have 2,000 tokens, answers 500.

In at most ten sentences and without a formula, explain what will get faster and what won't. Then
say what you'd buy or change instead, and whether serving many users at once would help *this* user.
""",
    rubric={
        ("Says what happens to the time per output token, with the reason."): 2,
        "Says what happens to the time to the first token, with the reason.": 2,
        "Names a change that helps the answer, with its reason.": 1,
        "Says what a batch does for all users together, and what it does for this one.": 1,
    },
    hints=(
        (
            "Split the waiting time into two parts. How many rows does each of them multiply at "
            "once?"
        ),
        "Which of the two reads all weights 500 times, and which reads them once?",
    ),
    common_errors=(
        "Giving one answer for both parts.",
        "Proposing a batch to make one user's answer faster.",
    ),
)
