"""Open: three services, and which keys each of them may forget."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="keys_for_whom",
    page="fewer-keys",
    title="Three services, one budget",
    kind="open",
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="What a budget costs, measured",
    text="""
One model serves three products, and memory allows 2,048 keys per head for each conversation. (a) A
chat runs for days and should stay fluent. (b) A long contract is read once; then the user asks five
questions that aren't known in advance. (c) A long report is pasted in, together with a single
instruction to summarize it.

For each product, choose one of these methods: a recency window with or without first tokens, H2O,
SnapKV, or query-aware selection. Say what it will get wrong, and how you'd measure that before a
user does. For one of the three, no method that forgets is right: say which, and what you'd ask for
instead of 2,048 keys.
""",
    rubric={
        "Gives each product a method, with a reason in what its queries look for.": 2,
        "Says for each what goes wrong, and how to test facts at known distances.": 2,
        "Sees that keys chosen before can't serve questions that come later.": 1,
    },
    hints=(
        "When do you know what will be asked: before the keys are thrown away, or after?",
        "A method that forgets saves memory and reading. Query-aware selection saves reading only. "
        "Which of the two can product (b) do without?",
    ),
    common_errors=(
        "Judging by the mean loss of a text, which hardly changes when a fact is lost.",
        "Trusting weights that were received before the question was asked.",
    ),
)
