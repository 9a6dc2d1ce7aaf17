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
A start-up serves a model with the shape of Llama 3 8B (grouped attention with 8 heads of keys and
values, bfloat16) to 16 users at once; their chats have about 2,000 tokens. "DeepSeek uses latent
attention, so should we," says the founder, and plans three months for a conversion.

Write the short note that you would send. Bound first what a decode step could gain, with your
numbers. Then weigh it against the price, recommend something, and give the strongest argument
against your own recommendation.
""",
    rubric={
        "Estimates the share of the cache in the bytes of a step, from numbers.": 2,
        "Derives the best possible gain from it, and calls it a bound.": 1,
        "Weighs the price, and recommends something.": 1,
        "Gives a strong argument against the own recommendation, or says where it turns round.": 1,
    },
    hints=(
        (
            "Bytes of the weights: once a step. Bytes of the cache: tokens times sequences "
            "times the bytes of a token."
        ),
        (
            "If the cache cost nothing at all, how long would a step take? No variant can do "
            "better than that."
        ),
    ),
    common_errors=(
        "Comparing bytes for each token of two variants, without the weights.",
        "Recommending for all times: longer chats change the answer.",
    ),
)
