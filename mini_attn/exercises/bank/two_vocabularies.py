"""Open: a larger vocabulary for two models, and what each would pay."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="two_vocabularies",
    page="tokens",
    title="A larger vocabulary, for whom?",
    kind="open",
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="What a vocabulary costs",
    text="""
A team wants to replace its vocabulary of 32,000 tokens, learned mostly on English, by one of
256,000, learned on twenty languages, and asks you about two models:

- one of 1B parameters and width 2,048 with 24 layers, on phones, for short chats;
- one of 70B parameters and width 8,192 with 80 layers, on servers, for long documents.

For each, say what the new vocabulary changes in memory, in the work of a step and in the cache of
a text, in English and in other languages, and whether you'd do it. What would you measure first?
And why can't the old weights simply be used with the new vocabulary?
""",
    rubric={
        "Counts the tables for both models, and sees that they weigh more in the small one.": 2,
        "Sees fewer tokens per text: a smaller cache and fewer steps, most for other languages.": 1,
        "Compares the logits with attention or with the layers, for short and long contexts.": 1,
        "Says that an id is a row of learned tables, so all rows have to be learned again, and "
        "names what to measure; not the loss per token, which can't be compared.": 1,
    },
    hints=(
        "How many parameters does a table of 256,000 rows have in each model?",
        "What is divided by the number of tokens of a text, and what is paid per token?",
    ),
    common_errors=(
        "Counting the tables, and not the texts that get shorter.",
        "Taking the gain in English for the gain in all languages.",
        "Comparing losses per token: the tokens of two vocabularies are different pieces.",
        "Keeping the old rows and adding new ones: the old ids are other pieces of text now.",
    ),
)
