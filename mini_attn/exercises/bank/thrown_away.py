"""Open: what a latent leaves out, and compared with what."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="thrown_away",
    page="mla",
    title="Ninety-eight percent thrown away?",
    kind="open",
    minutes=15,
    difficulty=4,
    stage="transfer",
    assessed=False,
    section="Why so few numbers can be enough",
    text="""
DeepSeek-V3 has a width of 7,168 and 128 heads; keys (without their rotary part) and values have 128
numbers in each. A colleague calculates: "Keys and values of a token are 32,768 numbers. The latent
has 512. So more than 98 % of the information is thrown away, and that must cost quality."

Find what is wrong in this argument and what is right in it, in eight to twelve sentences. Then say
which measurement would decide how much is lost, and with what you would compare.
""",
    rubric={
        (
            "Says where the 32,768 numbers come from, and finds a better number to compare 512 "
            "with."
        ): 2,
        (
            "Says when the narrow place comes in, during training or after it, and what that "
            "changes."
        ): 1,
        (
            "Says what is right in the argument, and names a measurement or a comparison that "
            "decides."
        ): 2,
    },
    hints=(
        "Where do the 32,768 numbers come from? How many of them can be chosen freely?",
        (
            "What would you compare with: attention of full size, or another one with a cache "
            "of as many bytes?"
        ),
    ),
    common_errors=(
        "Answering that nothing at all is lost.",
        "Comparing with full multi-head attention alone, which nobody could afford to cache.",
    ),
)
