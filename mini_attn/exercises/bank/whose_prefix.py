"""Open: who may share a prefix with whom."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="whose_prefix",
    page="paged",
    title="Whose prefix is it?",
    kind="open",
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="Cached prefixes",
    text="""
A provider serves many companies with one model and one pool of blocks, and every prompt can share
the cached blocks of every other. Blocks are compared before they're shared, so no request ever gets
keys or values of tokens other than its own.

A customer objects that another company can still find out what its prompts contain. Explain how,
although not a single token is shown. Then say which requests you'd let share their prefixes, what
that costs, and who pays. Write six to ten sentences.
""",
    rubric={
        "Names what can be observed, and how to test a guess with it.": 2,
        "Says why blocks make it easier or harder to guess a long text.": 1,
        "Chooses a boundary for sharing, and says how to build it into the lookup.": 2,
        "Says what the boundary costs, and for whom.": 1,
    },
    hints=(
        (
            "For the person who sends it, what differs between a prompt whose beginning is cached "
            "and one whose beginning isn't?"
        ),
        (
            "How would you guess a text of many blocks: all at once, or one block after the other? "
            "And what could you put into the hash of the first block?"
        ),
    ),
    common_errors=(
        "Saying that comparing the tokens of a block prevents it: the guesser's tokens are right.",
        "Switching off all sharing, without saying what that costs.",
    ),
)
