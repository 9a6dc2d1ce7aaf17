"""Open: what a rotation of the values would do."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="rotated_values",
    page="rope",
    title="Why not rotate the values?",
    kind="open",
    minutes=20,
    difficulty=4,
    stage="invent",
    assessed=True,
    section="One plane, one angle",
    text="""
Rotary embeddings rotate queries and keys. A colleague wants to rotate the values too, each by its
own position, "so that the output knows positions as well".

Explain what happens to the output when the whole text moves ten positions further, and whether it
still depends only on distances. Then find a change to the layer that makes this true again, and
judge whether the output projection could do the same by itself.
""",
    rubric={
        "Says why scores depend only on distances.": 1,
        "Says what moving the text does to the weights and to the output, with the reason.": 2,
        (
            "Finds a change after which the output depends only on distances, and shows that "
            "it does."
        ): 2,
        "Judges what the projection can do, with the reason.": 1,
    },
    hints=(
        (
            "Write the output as a sum of weights times rotated values, and move all positions "
            "by ten."
        ),
        (
            "In a score, the query's rotation is on the other side of the key's, so a difference "
            "is left. What could play that part in the output?"
        ),
    ),
    common_errors=(
        "Saying that the weights change as well.",
        "Saying that a learned matrix will undo the rotation.",
    ),
)
