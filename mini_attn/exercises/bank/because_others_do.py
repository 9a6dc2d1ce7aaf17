"""Open: what a change of variant would gain."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="because_others_do",
    page="choosing",
    title="Because DeepSeek does it",
    kind="open",
    minutes=20,
    difficulty=4,
    stage="transfer",
    assessed=False,
    section="A way to decide",
    text="""
A start-up serves a model with the shape of Llama-3-8B (grouped attention with 8 key/value heads,
bfloat16) to 16 users at once. Their chats have about 2,000 tokens. "DeepSeek uses latent
attention, so should we," says the founder, and plans three months for a conversion.

Write the short note that you would send. First bound what a decode step could gain, with your own
numbers. Then weigh it against the price, recommend something, and give the strongest argument
against your own recommendation.
""",
    rubric={
        "Estimates the share of the cache in the bytes of a step, from numbers.": 2,
        "Derives the best possible gain from it, and calls it a bound.": 1,
        "Weighs the price, and recommends something.": 1,
        "Gives a strong argument against it, or says where the recommendation changes.": 1,
    },
    hints=(
        (
            "A step reads the weights once. It reads the cache of every sequence: tokens times "
            "sequences times the bytes of a token."
        ),
        (
            "If the cache cost nothing at all, how long would a step take? No variant can do "
            "better than that."
        ),
    ),
    common_errors=(
        "Comparing bytes per token of two variants, without the weights.",
        "Recommending for good. Longer chats change the answer.",
    ),
)
