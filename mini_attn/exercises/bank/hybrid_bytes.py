"""Pencil: the cache of a model that mixes windowed and full layers."""

from __future__ import annotations

from mini_attn import cost
from mini_attn.exercises.guesses import explain
from mini_attn.exercises.spec import Exercise, Inputs, Outputs
from mini_attn.models import MODELS

TEXT = """
With pencil and paper: Gemma 3 27B has 62 layers. Every sixth keeps all tokens, the others keep
the last 1,024. Keys and values have 16 heads of 128 numbers, stored in bfloat16. How many bytes
does its cache take for one text of 32,768 tokens?
"""

MODEL, CONTEXT, EACH = MODELS["gemma-3-27b"], 32_768, 2
WINDOW = MODEL.window or 0
LAYERS, FULL = MODEL.n_layers, MODEL.n_layers // MODEL.full_every
_SLOT = 2 * MODEL.n_kv_heads * MODEL.head_dim * EACH
ANSWER = cost.cache_bytes(MODEL, batch=1, context=CONTEXT, dtype_bytes=EACH)

MISTAKES = {
    _SLOT * LAYERS * CONTEXT: "That is a model whose layers all keep everything.",
    _SLOT * LAYERS * WINDOW: "That is a model whose layers are all windowed.",
    _SLOT * ((LAYERS - FULL) * CONTEXT + FULL * WINDOW): (
        "The other way round: every sixth layer keeps all, the others keep a window."
    ),
    _SLOT * ((FULL + 1) * CONTEXT + (LAYERS - FULL - 1) * WINDOW): (
        f"{LAYERS} / 6 is not whole, and the last two layers are windowed: {FULL} layers are full."
    ),
    round(_SLOT * (LAYERS * CONTEXT + 5 * LAYERS * WINDOW) / 6): (
        f"{LAYERS} / 6 is not whole, and layers are: {FULL} are full, the other {LAYERS - FULL} "
        "windowed."
    ),
    ANSWER // 2: "Half is missing: keys and values are both kept, in 2 bytes each.",
    2
    * ANSWER: "Twice as much: a bfloat16 number takes 2 bytes, not 4, and keys and values have 16 "
    "heads, not 32.",
    8 * ANSWER: "Those are bits.",
    ANSWER // EACH // 2: "Those are numbers of the keys alone: values too, and 2 bytes for each.",
    _SLOT * FULL * CONTEXT: "The windowed layers keep something too: 1,024 tokens each.",
    ANSWER // MODEL.n_kv_heads: "That is one key/value head; there are 16.",
}


def _near(value: float, number: float) -> bool:
    return abs(value - number) <= 0.005 * number


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea behind a foreseen wrong number, or how far off another one is."""
    value = float(outputs["answer"])
    if _near(value, ANSWER):
        return None
    if idea := explain(value, MISTAKES.items(), _near):
        return idea
    if 0 < value < 1e6:
        return "The answer is in bytes: write the number out, or as 1.23e9."
    far = max(value / ANSWER, ANSWER / value) if value > 0 else float("inf")
    side = "large" if value > ANSWER else "small"
    return (
        f"{value:,.6g} bytes is {far:,.3g} times too {side}. Slots of all layers first, then bytes "
        "of one slot."
    )


EXERCISE = Exercise(
    id="hybrid_bytes",
    page="sliding-window",
    title="A cache of two kinds",
    kind="pencil",
    groups={"by hand": 2},
    minutes=8,
    difficulty=2,
    assessed=False,
    section="Layers of both kinds",
    text=TEXT,
    starter="answer = ...  # your number of bytes",
    unit="bytes",
    mistakes=MISTAKES,
    hints=(
        "Two sums: what the full layers hold, and what the windowed ones hold.",
        "Slots: full layers times 32,768 plus windowed layers times 1,024. Bytes of one slot: 2 (K "
        "and V) times 16 heads times 128 times 2 bytes.",
    ),
    common_errors=(
        "Rounding 62 / 6 up: the last two layers are windowed.",
        "Counting the windowed layers as if they held nothing.",
        "Counting keys and not values.",
    ),
    judge=judge,
)
