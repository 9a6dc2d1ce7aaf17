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
    section="Why so few values can be enough",
    text="""
DeepSeek-V3 has a width of 7,168 and 128 heads, with keys (without their RoPE part) and values of
dimension 128. A colleague calculates: "The keys and values of a token are 32,768 values. The latent
has 512. So more than 98% of the information is thrown away, and that must cost quality."

In eight to twelve sentences, say what's wrong with this argument and what's right. Then say which
measurement would decide how much is lost, and what you'd compare with.
""",
    rubric={
        (
            "Says where the 32,768 values come from, and finds a better number to compare 512 with."
        ): 2,
        (
            "Says when the bottleneck comes in, during training or after it, and what that changes."
        ): 1,
        (
            "Says what is right in the argument, and names a measurement or a comparison that "
            "decides."
        ): 2,
    },
    hints=(
        "Where do the 32,768 values come from? How many of them can be chosen freely?",
        (
            "What would you compare with: attention of full size, or another kind with a cache of "
            "as many bytes?"
        ),
    ),
    common_errors=(
        "Answering that nothing at all is lost.",
        "Comparing only with full multi-head attention, which nobody could afford to cache.",
    ),
)
