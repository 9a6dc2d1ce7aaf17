"""Open: what is used again and what is not."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="cache_more",
    page="kv-cache",
    title="What else could be cached?",
    kind="open",
    minutes=15,
    difficulty=3,
    stage="invent",
    assessed=True,
    section="Why old keys and values never change",
    text="""
Two colleagues improve your cache. One adds the queries and the attention weights of all earlier
tokens, "to be safe". The other removes the values: "A value is just $x W_v$, so we can recompute it
whenever we need it."

Judge both proposals in eight to twelve sentences. For each, say what gets read again and by what,
and what it costs in memory and in work per new token. Is there a version of the second idea that
you'd consider?
""",
    rubric={
        "Says what reads old queries and weights again, and what they cost.": 2,
        "Says why keys and values are worth keeping.": 1,
        "Says what the second proposal needs, in memory and in each step.": 2,
        "Names a version that's worth considering, and its price.": 1,
    },
    hints=(
        "Write down which arrays the row of the newest token needs.",
        ("To recompute a value, you need its input. Where is it, and how many of them are there?"),
    ),
    common_errors=(
        "Calling something superfluous harmless, although it takes memory.",
        "Thinking that a layer's input is still there from the prompt.",
    ),
)
