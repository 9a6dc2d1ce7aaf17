"""Open: three products, and what each should keep of its past."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="which_memory",
    page="state",
    title="A lawyer, a chat and a microphone",
    kind="open",
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="Mixtures: three to one",
    text="""
Three teams choose the layers of a model.

- One reads contracts of 300,000 tokens and answers questions about single clauses.
- One answers chats of 500 tokens, for thousands of users at a time.
- One listens to a microphone without end and should notice when something unusual is said.

For each, choose attention, layers that keep a state, or a mixture, and say why: what must be found
again, what's kept per user, and what grows? Name a choice that would fail, and a test that would
show it before you pay for training.
""",
    rubric={
        "First: recalling single facts takes attention in some layers; counts the cache.": 2,
        "Second: sees that a state takes more than a short cache.": 1,
        "Third: bounded memory, with a state or a window, and says what is forgotten.": 1,
        "Names a choice that fails, and a test that shows it: of recall, not perplexity.": 1,
    },
    hints=(
        "For each team write down the longest text, and whether single details have to be found "
        "again word by word.",
        "Compare the bytes of a state with those of the cache at that length. A test for recall "
        "stores pairs and asks for one of them.",
    ),
    common_errors=(
        "Choosing a state because it's “linear”, at 500 tokens.",
        "Trusting perplexity to show whether single facts are found again.",
        "Letting a cache grow without end.",
    ),
)
