"""Pencil: how long a context fits for 64 sequences with latent attention."""

from __future__ import annotations

from operator import eq

from mini_attn import cost
from mini_attn.exercises.guesses import explain, times_too_many
from mini_attn.exercises.spec import Exercise, Inputs, Outputs

TEXT = """
With pencil and paper: the latent variant of the picture has 8,239,992,832 parameters and 32
layers; each keeps a latent of 512 and a rotated key of 64 for a token. Weights and cache have 2
bytes a number. How many tokens can each of 64 sequences have on a device with 80 GB?
"""

MEMORY, BATCH, LAYERS, RANK, ROPE, NUMBER_BYTES = 80 * 10**9, 64, 32, 512, 64, 2
PARAMETERS = 8_239_992_832

_LEFT = MEMORY - NUMBER_BYTES * PARAMETERS
_TOKEN = BATCH * LAYERS * (RANK + ROPE) * NUMBER_BYTES
ANSWER = _LEFT // _TOKEN

MISTAKES = {
    MEMORY // _TOKEN: "The weights take their place first.",
    (MEMORY - PARAMETERS) // _TOKEN: "Each weight takes 2 bytes: the parameters are counted, not "
    "their bytes.",
    _LEFT // (_TOKEN // BATCH): f"That is one sequence; {BATCH} share the memory.",
    _LEFT // (_TOKEN * 2): "Keys and values are both made of the one latent: there is no factor 2.",
    _LEFT // (BATCH * LAYERS * RANK * NUMBER_BYTES): "The rotated key is kept as well: "
    f"{RANK} + {ROPE} numbers a token and layer.",
    _LEFT // (_TOKEN // LAYERS): f"That is the cache of one layer; there are {LAYERS}.",
    _LEFT // (_TOKEN // NUMBER_BYTES): "Each number takes 2 bytes.",
    _LEFT // (BATCH * LAYERS * (RANK + 32 * ROPE) * NUMBER_BYTES): "The rotated key is one for "
    "all heads.",
    _LEFT // (BATCH * LAYERS * 2 * 8 * 128 * NUMBER_BYTES): "Those are keys and values of 8 heads. "
    "Here a token leaves one latent and one rotated key in each layer.",
    (80 * 2**30 - NUMBER_BYTES * PARAMETERS) // _TOKEN: "A GB is 1e9 bytes; this is 80 GiB.",
    ANSWER + 1: "Rounded up, the last token does not fit.",
}

assert cost.DEVICES["h100"].memory_bytes == MEMORY


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea behind a foreseen wrong number, or how far off another one is."""
    value = float(outputs["answer"])
    if value == ANSWER:
        return None
    if idea := explain(value, MISTAKES.items(), eq):
        return idea
    if value != int(value) and int(value) == ANSWER:
        return "Tokens come whole: round down."
    if value <= 0:
        return "The weights leave most of the device free: some tokens fit."
    return (
        f"{value:,.6g} is {times_too_many(value, ANSWER)}. "
        "Memory less weights, then bytes of one token of every sequence."
    )


EXERCISE = Exercise(
    id="longest_context",
    page="choosing",
    title="Room for reports",
    kind="pencil",
    groups={"by hand": 2},
    minutes=8,
    difficulty=1,
    assessed=False,
    section="What the context changes",
    text=TEXT,
    standalone=(
        "the latent variant of the picture has",
        "a model of the shape of Llama-3-8B, but with latent attention, has",
    ),
    unit="tokens each",
    mistakes=MISTAKES,
    hints=(
        "All sequences together may take what the weights leave.",
        "One token takes, in all layers, 32 × (512 + 64) × 2 bytes of each of the 64 sequences. "
        "Divide what is left by that and round down.",
    ),
    common_errors=(
        "Leaving out the rotated key.",
        "A factor 2 for keys and values: the latent is both.",
    ),
    judge=judge,
)
