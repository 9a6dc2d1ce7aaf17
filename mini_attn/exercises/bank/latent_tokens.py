"""Pencil: how many tokens a latent cache holds."""

from __future__ import annotations

from operator import eq

from mini_attn import cost
from mini_attn.exercises.guesses import explain
from mini_attn.exercises.spec import Exercise, Inputs, Outputs
from mini_attn.models import MODELS

TEXT = """
With pencil and paper: DeepSeek-V2-Lite has 27 layers and 16 heads, `kv_lora_rank` 512,
`qk_rope_head_dim` 64, keys of 128 + 64 and values of 128. Its cache is stored in bfloat16 and 40
GB are free for it. How many tokens fit?
"""

MODEL = MODELS["deepseek-v2-lite"]
MEMORY = 40 * 10**9

_TOKEN = cost.cache_bytes_per_token(MODEL, dtype_bytes=2)
_EACH = _TOKEN // MODEL.n_layers  # bytes of a token in one layer
_HEAD = MODEL.qk_nope_head_dim + MODEL.qk_rope_head_dim + (MODEL.v_head_dim or MODEL.head_dim)
ANSWER = MEMORY // _TOKEN

MISTAKES = {
    MEMORY // (2 * MODEL.n_layers * MODEL.kv_lora_rank): "The rotated key of 64 is cached beside "
    "the latent, in every layer.",
    MEMORY // (2 * _TOKEN): "Twice too large a token: one latent serves for keys and values, "
    "and a bfloat16 number has 2 bytes.",
    MEMORY // (_TOKEN // 2): "A bfloat16 number has 2 bytes.",
    MEMORY // (_TOKEN * 8): "Those are bits: a bfloat16 number has 2 bytes.",
    MEMORY // _EACH: "That is the cache of one layer: each of the 27 keeps its own latents.",
    MEMORY // (2 * MODEL.n_layers * MODEL.n_heads * _HEAD): "That is what the heads' own keys and "
    "values would take. The cache holds what they are made of.",
    MEMORY // (2 * MODEL.n_layers * (MODEL.kv_lora_rank + MODEL.n_heads * MODEL.qk_rope_head_dim)):
    "The rotated key is one for all heads, not one for each.",
    MEMORY // (_TOKEN * MODEL.n_heads): "All heads share one latent and one rotated key: "
    "the number of heads plays no part.",
    40 * 2**30 // _TOKEN: "A GB is 1e9 bytes; this is 40 GiB, 7.4 % more.",
    -(-MEMORY // _TOKEN): "Rounded up, the last token does not fit: round down.",
}  # fmt: skip


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea behind a foreseen wrong number, or how far off another one is."""
    value = float(outputs["answer"])
    if value == ANSWER:
        return None
    if idea := explain(value, MISTAKES.items(), eq):
        return idea
    if abs(value - ANSWER) < 1:
        return "A token fits whole or not at all: give the whole number, rounded down."
    if abs(value / ANSWER - 1) < 0.005:
        return "Very near: give the exact whole number, rounded down."
    if value <= 0:
        return "Some tokens fit: bytes of a token first, then divide."
    way = "many" if value > ANSWER else "few"
    return (
        f"{value:,.6g} is too {way}. Numbers of a token in one layer first, then times layers and "
        "bytes, then divide."
    )


EXERCISE = Exercise(
    id="latent_tokens",
    page="mla",
    title="A long conversation",
    kind="pencil",
    groups={"by hand": 2},
    minutes=6,
    difficulty=1,
    assessed=False,
    section="What is cached",
    text=TEXT,
    unit="tokens",
    mistakes=MISTAKES,
    hints=(
        "What does one token leave in one layer? Two things, and neither depends on the heads.",
        "512 + 64 numbers, 2 bytes each, in 27 layers: the bytes of a token. Divide, round down.",
    ),
    common_errors=(
        "Taking the latent twice, once for keys and once for values.",
        "Forgetting the rotated key.",
        "Counting the 16 heads.",
    ),
    judge=judge,
)
