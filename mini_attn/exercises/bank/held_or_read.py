"""Open: two devices, and which missing factor helps each."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="held_or_read",
    page="shared-layers",
    title="A phone and a server",
    kind="open",
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="What the models of 2026 shrink",
    text="""
A team designs one model for two devices. On a phone, it runs one conversation of 32,000 tokens, and
memory runs out before time does. On a server, long contexts of many users fit into memory, but each
decode step takes too long, because it reads all their caches.

For each device, say what you'd expect from letting half of the layers read another layer's cache,
and what from one entry for every four tokens, next to a window. What would you measure before
you believe it, and what might either change cost in quality? For one device, one of the changes
doesn't address the complaint: say which.
""",
    rubric={
        "Says that sharing layers cuts what's held, and entries both what's held and read.": 2,
        "Sees that sharing layers leaves the server's bytes per step as they are.": 1,
        "Names a cost in quality for each, with a reason in keys.": 1,
        "Says what to measure: bytes, step time, recall at known distances.": 1,
    },
    hints=(
        "Write down, for each change, how many bytes are held and how many a step reads.",
        "A reading layer still attends. Whose keys does it read, and how many?",
    ),
    common_errors=(
        "Taking a smaller cache for a faster step.",
        "Judging by the mean loss of a text, which hardly changes when recall is lost.",
    ),
)
