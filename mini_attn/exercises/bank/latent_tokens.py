"""Pencil: how many tokens a latent cache holds."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from mini_attn import cost
from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn
from mini_attn.models import MODELS
from mini_attn.questions import NumberQuestion, Remark, above, foreseen, near

MODEL = MODELS["deepseek-v2-lite"]
ROPE = MODEL.qk_rope_head_dim or 0
CHOICES = {
    "layers": (24, 27, 30, 32, 36, 40, 48),
    "heads": (12, 16, 20, 24),
    "rank": (256, 384, 512, 768),
    "memory": (20, 24, 30, 40, 48, 60),
}


class Numbers(NamedTuple):
    """Layers, heads, the latent's numbers, and GB that are free."""

    layers: int = MODEL.n_layers
    heads: int = MODEL.n_heads
    rank: int = MODEL.kv_lora_rank or 0
    memory: int = 40

    def fit(self, numbers: int, number_bytes: int = 2) -> int:
        """Tokens that leave as many numbers in each layer."""
        return self.memory * 10**9 // (number_bytes * self.layers * numbers)

    @property
    def kept(self) -> int:
        """Numbers of a token in one layer."""
        return self.rank + ROPE

    @property
    def token(self) -> int:
        """Bytes of a token."""
        return 2 * self.layers * self.kept

    @property
    def right(self) -> int:
        """The answer."""
        return self.fit(self.kept)


assert Numbers().token == cost.cache_bytes_per_token(MODEL, dtype_bytes=2)


def _text(n: Numbers) -> str:
    name = "DeepSeek-V2-Lite" if n == Numbers() else "a model"
    return f"""
With pencil and paper: {name} has {n.layers} layers and {n.heads} heads, `kv_lora_rank` {n.rank},
`qk_rope_head_dim` {ROPE}, keys of 128 + 64 dimensions and values of 128. Its cache is stored in
bfloat16, and {n.memory} GB are free for it. How many tokens fit?
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    own = MODEL.qk_nope_head_dim + ROPE + (MODEL.v_head_dim or MODEL.head_dim)
    return {
        n.fit(n.rank): f"You left out the rotated key of {ROPE}, which every layer caches too.",
        n.fit(2 * n.kept): "Your token is twice too large. One latent serves for keys and "
        "values, and a bfloat16 value has 2 bytes.",
        n.fit(n.kept, 1): "A bfloat16 value has 2 bytes.",
        n.fit(n.kept, 16): "You counted bits. A bfloat16 value has 2 bytes.",
        n.memory * 10**9 // (2 * n.kept): "That's the cache of one layer. Each of the "
        f"{n.layers} keeps its own latents.",
        n.fit(n.heads * own): "That's what the heads' own keys and values would take. The cache "
        "holds what they're made from.",
        n.fit(n.rank + n.heads * ROPE): "You counted a rotated key per head. There's "
        "one for all heads.",
        n.fit(n.kept * n.heads): "All heads share one latent and one rotated key, so "
        "their number plays no part.",
        n.memory * 2**30 // n.token: f"A GB is 1e9 bytes. You took {n.memory} GiB, 7.4% more.",
        n.right + 1: "You rounded up, but the last token doesn't fit: round down.",
    }


def _number(n: Numbers) -> NumberQuestion:
    return NumberQuestion(
        answer=n.right,
        unit="tokens",
        mistakes=foreseen(_mistakes(n)),
        otherwise=(
            Remark(
                "A token fits whole or not at all. Give the whole number, rounded down.",
                low=above(n.right - 1),
                high=n.right + 1,
            ),
            near(n.right, "That's very close. Give the exact whole number, rounded down.", 0.005),
            Remark("Some tokens fit. Compute the bytes of a token first, then divide.", high=0),
            Remark(
                "{value:,.6g} is too {many}. Start with the values of a token in one layer, "
                "multiply by layers and bytes, then divide."
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="latent_tokens",
        page="mla",
        title="A long conversation",
        kind="pencil",
        groups={"by hand": 2},
        minutes=6,
        difficulty=1,
        stage="warm-up",
        assessed=False,
        section="What the cache holds",
        text=_text(n),
        number=_number(n),
        hints=(
            "What does one token leave in one layer? Two things, and neither depends on the heads.",
            f"{n.rank} + {ROPE} values, 2 bytes each, in {n.layers} layers are the bytes of a "
            "token. Divide and round down.",
        ),
        common_errors=(
            "Taking the latent twice, once for keys and once for values.",
            "Forgetting the rotated key.",
            f"Counting the {n.heads} heads.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
