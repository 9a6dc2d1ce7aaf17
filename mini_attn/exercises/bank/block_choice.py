"""Open: bytes that fall, and time that does not."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="block_choice",
    page="flash",
    title="Half the bytes, the same time",
    kind="open",
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="How much it saves depends on the fast memory",
    text="""
A colleague has written an attention kernel that works in tiles. She doubled its blocks of queries
from 64 to 128, and prefill (the forward pass over a whole prompt) got faster for 8,192 tokens.
Doubling them again, to 256, still halves the bytes of keys and values that are read, and the blocks
fit. But now prefill takes as long as with 128 for 8,192 tokens, and longer for 512 tokens. A decode
step takes the same time with all three.

Explain the four observations in six to ten sentences. Then say what you'd count or measure to find
out whether your explanation of the third one is right.
""",
    rubric={
        "Says why prefill of long prompts gains at first, and why it stops gaining.": 2,
        "Says what larger blocks cost where there are few tokens.": 2,
        "Says why a decode step doesn't change, and what would help there.": 1,
        "Proposes a count or a measurement that could refute the explanation.": 1,
    },
    hints=(
        (
            "What bounds a kernel when it isn't the bytes? And how many thread blocks does a "
            "head of "
            "512 tokens give, with 64 and with 256 queries each?"
        ),
        (
            "Under a causal mask, which part of the square is computed with tiles of 256 on 512 "
            "tokens? How many queries does a block have in a decode step?"
        ),
    ),
    common_errors=(
        "Taking bytes for time: they bound it from below, and so do the FLOPs.",
        "Forgetting that fewer blocks of queries mean fewer thread blocks.",
    ),
)
