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
One model serves three products, and memory allows 2,048 keys a head for each text. (a) A chat that
runs for days and should stay fluent. (b) A long contract is read once; then the user asks five
questions that nobody knows beforehand. (c) A long report is pasted together with the one
instruction to summarise it.

Choose for each of them one of these rules: a window with or without first tokens, eviction by
received weight, a choice at the end of the prompt, or a choice for each query. Say what it will
get wrong, and how you would measure that before a user does. For one of the three no rule that
forgets is right: say which, and what you would ask for instead of 2,048 keys.
""",
    rubric={
        "Gives each product a rule, with a reason in what its queries look for.": 2,
        "Names for each what goes wrong, and a test that asks for facts at known distances.": 2,
        "Sees that questions which come later cannot be served by keys chosen before.": 1,
    },
    hints=(
        "When is it known what will be asked: before the keys are thrown away, or after?",
        "A rule that forgets saves memory and reading; a rule that chooses for each query saves "
        "reading only. Which of the two can product (b) do without?",
    ),
    common_errors=(
        "Judging by the mean loss of a text, which hardly moves when a fact is lost.",
        "Trusting weights that were received before the question was asked.",
    ),
)
