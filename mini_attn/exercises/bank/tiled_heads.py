"""Pencil: how many heads still read the right keys when the order is wrong."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise
from mini_attn.models import MODELS
from mini_attn.questions import NumberQuestion, Remark, above, below, foreseen

TEXT = """
With pencil and paper: Llama-3-8B has 32 query heads and 8 key/value heads. A program assigns the
key/value heads round-robin, as `np.tile` does. In the example of this page, heads 0 and 3 of 4 were
right anyway. How many of the 32 query heads still read the key/value head they should?
"""

MODEL = MODELS["llama-3-8b"]
HEADS, KV_HEADS = MODEL.n_heads, MODEL.n_kv_heads
GROUP = HEADS // KV_HEADS
ANSWER = sum(head // GROUP == head % KV_HEADS for head in range(HEADS))

_IN_A_GROUP = (
    "Too many. Of the four query heads that should share a key/value head, at most one gets it. "
    "Some groups have none: query heads 4 to 7 should read head 1, and they get 4, 5, 6 and 7."
)
MISTAKES = {
    HEADS: "That's every head. Query head 1 should read key/value head 0 and reads head 1.",
    0: "At least one is right: query head 0 reads key/value head 0 either way.",
    HEADS - ANSWER: "That's how many read a wrong one. How many are right?",
    2: "The first and the last query head are right either way. Are there others between them?",
    1: "Query head 0 is right. Is it the only one? Try the last.",
    KV_HEADS: "That would be one for each key/value head. Some key/value heads are never met by "
    "their own query heads. Check head 1, which query heads 4 to 7 should read.",
    KV_HEADS // 2 + 1: "One too many, or one too few: write the two numbers, h // 4 and h mod 8, "
    "under each h from 0 to 31.",
    6: _IN_A_GROUP,
    7: _IN_A_GROUP,
    3: "One too many, or one too few: write the two numbers, h // 4 and h mod 8, under each h "
    "from 0 to 31.",
}


_WHOLE = f"A head is right or not. The answer is an integer from 0 to {HEADS}."
NUMBER = NumberQuestion(
    answer=ANSWER,
    unit="heads",
    mistakes=foreseen(MISTAKES),
    otherwise=(
        Remark(_WHOLE, high=below(0)),
        Remark(_WHOLE, low=above(HEADS)),
        Remark(_WHOLE, fractional=True),
        Remark(
            f"It isn't {{value:.0f}}. Query head h should read h // {GROUP} and reads h mod "
            f"{KV_HEADS}: count where the two agree."
        ),
    ),
)

EXERCISE = Exercise(
    id="tiled_heads",
    page="mqa-gqa",
    title="Right by accident",
    kind="pencil",
    groups={"by hand": 2},
    minutes=8,
    difficulty=2,
    stage="transfer",
    assessed=True,
    section="Neighbors share: which repeat is the right one",
    text=TEXT,
    standalone=(
        "In the example of this page, heads 0 and 3 of 4 were right anyway.",
        "With 2 key/value heads for 4 query heads, heads 0 and 3 are right anyway.",
    ),
    number=NUMBER,
    hints=(
        "Write two numbers for each query head: the key/value head it should read, and the one it "
        "gets.",
        "Should: h // 4. Gets: h mod 8. Write h as 4a + b with b from 0 to 3; then it should be "
        "a, and it gets b for even a and 4 + b for odd a.",
    ),
    common_errors=(
        "Checking the first and the last head only.",
        "Taking 8 for the number of query heads that share a key/value head.",
    ),
)
