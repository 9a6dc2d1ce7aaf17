"""Open: what one wide head can't bring."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="two_errands",
    page="multihead",
    title="What one wide head can't bring",
    kind="open",
    minutes=15,
    difficulty=3,
    stage="invent",
    assessed=False,
    section="One head, one average",
    text="""
Invent a small case of three or four tokens in which two heads bring the last token something that
one head of twice the width can't bring. It has to work for any numbers in the tokens. Sketch it:
which token each head looks at, what it takes from there, and what arrives.

Then say in three to five sentences what the single head gives the token instead, and why a wider
head doesn't help.
""",
    rubric={
        "Gives a case with its tokens, the weights of both heads, and what each of them moves.": 2,
        "Says what a single head can bring in this case, whatever its width, and why no more.": 2,
        "Says what the second head's own projections add.": 1,
    },
    hints=(
        (
            "Let the two heads look at tokens far apart in the sentence, and let each take another "
            "property from there."
        ),
        (
            "A single head can look at both tokens at once, half and half. What unwanted thing "
            "comes with that?"
        ),
    ),
    common_errors=(
        "Both of your heads look at the same token. One wide head can do that.",
        (
            "You say that one head can't look at two tokens. It can, but it takes the same things "
            "from both."
        ),
    ),
)
