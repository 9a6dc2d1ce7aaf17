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
    section="Why the past may be kept",
    text="""
Two colleagues improve your cache. One adds the queries and the attention weights of all past
tokens, "to be safe". The other removes the values: "A value is only $x W_v$, so it can be computed
again whenever it is needed."

Judge both proposals in eight to twelve sentences. Say for each what is read again and by whom, what
it costs in memory and in work for each new token, and whether there is a version of the second idea
that you would consider.
""",
    rubric={
        "Says of past queries and weights who reads them again, and what they cost.": 2,
        "Says why keys and values are worth keeping.": 1,
        "Says what the second proposal needs, in memory and at each step.": 2,
        "Names a version that is worth a thought, and its price.": 1,
    },
    hints=(
        "Write down which arrays the row of the newest token needs.",
        (
            "To compute a value again one needs its input. Where is that, and how many of them "
            "are there?"
        ),
    ),
    common_errors=(
        "Calling what is superfluous harmless: somebody has to keep it.",
        "Thinking that the input of a layer is still there from the prompt.",
    ),
)
