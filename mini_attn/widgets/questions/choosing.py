"""The predictions of the chapter that compares the variants."""

from __future__ import annotations

from mini_attn import cost
from mini_attn.variants import REGISTRY
from mini_attn.widgets.comparison_data import ONE_SHAPE
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

GQA, MQA, MLA, WINDOWED = (ONE_SHAPE[name] for name in ("gqa", "mqa", "mla", "sliding_window"))
HEADS, SIZE = GQA.n_heads, GQA.head_dim
H100 = cost.DEVICES["h100"]


def _as_small_as_latent() -> Question:
    latent, grouped = MLA.kv_lora_rank + MLA.qk_rope_head_dim, 2 * GQA.n_kv_heads * SIZE
    answer = latent * 16 / grouped
    return Question(
        key="choosing/as-small-as-latent",
        text=f"Latent attention keeps {latent} values per token and layer, in 16 bits each. "
        f"Grouped-query attention with {GQA.n_kv_heads} key/value heads of dimension {SIZE} keeps "
        "more of them. In how many bits per value would its cache be just as small?",
        answer=answer,
        unit="bits",
        kind="ratio",
        tolerance=0.005,
        explanation=f"{latent} × 16 bits = {grouped:,} values × {answer} bits. Scales count, too.",
        mistakes=(
            Mistake(
                latent * 16 / (grouped // 2),
                "You counted the keys alone. A token leaves a key and a value for each head.",
            ),
            Mistake(
                grouped / latent,
                "That's how many times more values it keeps. Divide the 16 bits by it.",
            ),
            Mistake(answer / 8, "That's in bytes per value. Multiply by 8."),
            Mistake(
                latent * 16 / (2 * HEADS * SIZE),
                f"You took the {HEADS} query heads. The cache holds {GQA.n_kv_heads} key/value "
                "heads.",
            ),
            Mistake(
                latent * 16 / (2 * SIZE),
                f"You counted one key/value head. There are {GQA.n_kv_heads}.",
            ),
            Mistake(4, "Nearly. That would make it a little smaller than the latent's cache."),
        ),
    )


def _beside_latent() -> Question:
    numbers = MLA.kv_lora_rank + MLA.qk_rope_head_dim
    answer = numbers // (2 * SIZE)
    return Question(
        key="choosing/beside-latent",
        text=f"Latent attention keeps {MLA.kv_lora_rank} + {MLA.qk_rope_head_dim} = {numbers} "
        "values per token and layer. How many key/value heads of dimension "
        f"{SIZE} can grouped-query attention have and still keep fewer?",
        answer=answer,
        unit="heads",
        kind="quotient",
        explanation=f"A key/value head keeps a key and a value, {2 * SIZE} values together. "
        f"{answer} heads keep {answer * 2 * SIZE}, {answer + 1} would keep "
        f"{(answer + 1) * 2 * SIZE}. So the latent's cache isn't the smallest here.",
        mistakes=(
            Mistake(
                numbers // SIZE,
                "Each key/value head keeps two vectors, a key and a value.",
            ),
            Mistake(
                answer + 1,
                f"{answer + 1} heads keep {(answer + 1) * 2 * SIZE} values, which is more.",
            ),
            Mistake(
                numbers / (2 * SIZE),
                "Your ratio is right. Heads come whole, and the cache should be smaller.",
            ),
            Mistake(
                numbers / SIZE,
                "Each key/value head keeps two vectors, a key and a value. And heads come whole.",
            ),
            Mistake(1, "That's multi-query attention. One more head still keeps fewer."),
            Mistake(
                GQA.n_kv_heads,
                f"{GQA.n_kv_heads} heads keep {GQA.n_kv_heads * 2 * SIZE:,} values, several "
                "times as many as the latent.",
            ),
        ),
    )


def _window_or_one_head() -> Question:
    window, kv_heads = WINDOWED.window or 0, WINDOWED.n_kv_heads
    answer = window * kv_heads
    return Question(
        key="choosing/window-or-one-head",
        text=f"One layer keeps the last {window:,} tokens with {kv_heads} key/value heads, another "
        f"keeps all tokens with one head of the same size. At which context are the caches "
        "the same size?",
        answer=answer,
        unit="tokens",
        kind="crossover",
        tolerance=0.005,
        explanation=f"{window:,} tokens × {kv_heads} heads = {answer:,} tokens × 1 head. Beyond "
        "that the window keeps less.",
        mistakes=(
            Mistake(
                window,
                f"That's where the window begins to cut. Up to {kv_heads} times as far it still "
                "holds more, because it has more heads.",
            ),
            Mistake(
                window // kv_heads,
                "You divided where you should multiply. The layer with one head needs more "
                "tokens to fill as much memory, not fewer.",
            ),
            Mistake(
                2 * answer,
                "Both layers keep keys and values, so the factor 2 cancels.",
            ),
            Mistake(
                window * HEADS,
                f"You took the {HEADS} query heads, which leave nothing in the cache. The "
                f"window's layer has {kv_heads} key/value heads.",
            ),
            Mistake(
                answer // 2,
                "Both layers keep keys and values, so nothing is halved.",
            ),
        ),
    )


def _faster() -> Question:
    context = 1024
    mha = ONE_SHAPE["mha"]
    caches = [cost.cache_bytes(model, batch=1, context=context) for model in (mha, MQA)]
    steps = [cost.step_seconds(model, H100, kv_len=context) for model in (mha, MQA)]
    read, lean = (sum(cost.step_bytes(model, kv_len=context).values()) for model in (mha, MQA))
    smaller, answer = caches[0] // caches[1], round(100 * (1 - steps[1] / steps[0]))
    return Question(
        key="choosing/faster",
        text=f"Multi-query attention keeps {smaller} times fewer bytes than multi-head attention. "
        f"One sequence has {context:,} tokens. By how many percent does the bound of a decode step "
        "fall?",
        answer=answer,
        unit="%",
        kind="share",
        tolerance=0.03,
        explanation=f"From {1e3 * steps[0]:.2f} to {1e3 * steps[1]:.2f} ms. The cache is only "
        f"{caches[0] / read:.0%} of what multi-head attention reads in this step. Most of the gain "
        "is smaller matrices.",
        mistakes=(
            Mistake(
                round(100 * (1 - 1 / smaller)),
                "That's how much the cache shrinks. A step also reads the weights, and here they "
                "are nearly everything.",
            ),
            Mistake(
                round(100 * (caches[0] - caches[1]) / read),
                "You've counted the cache alone. Fewer key/value heads also need smaller matrices.",
            ),
            Mistake(
                round(100 * (read - caches[0] - lean + caches[1]) / read),
                "You've counted the smaller matrices alone. The cache shrinks too.",
            ),
            Mistake(
                round(100 * (steps[0] / steps[1] - 1)),
                "You divided the gain by the shorter step. Divide it by the longer one.",
            ),
            Mistake(50, "For that, the cache would have to be half of what the step reads."),
        ),
    )


def _latent_work() -> Question:
    def pair(name: str) -> int:
        model = ONE_SHAPE[name]
        form = REGISTRY[name].step_form
        one, two = (
            sum(cost.matmul_flops(model, q_len=1, kv_len=n, causal="exact", form=form).values())
            for n in (1000, 1001)
        )
        return two - one

    answer = pair("mla") / pair("mha")
    width = MLA.kv_lora_rank + MLA.qk_rope_head_dim
    return Question(
        key="choosing/latent-work",
        text=f"In its absorbed form each of the {HEADS} heads of latent attention compares over "
        f"{MLA.kv_lora_rank} + {MLA.qk_rope_head_dim} values and sums over values of "
        f"{MLA.kv_lora_rank}. For a head of multi-head attention it's {SIZE} and {SIZE}. How many "
        "times as many FLOPs does the latent spend on each cached token?",
        answer=answer,
        unit="times",
        kind="ratio",
        tolerance=0.005,
        explanation=f"({width} + {MLA.kv_lora_rank}) / ({SIZE} + {SIZE}) = {answer}. The "
        "latent pays for its smaller cache with arithmetic.",
        mistakes=(
            Mistake(
                width / SIZE,
                "That's the scores alone. The weighted sum runs over the latent as well.",
            ),
            Mistake(
                MLA.kv_lora_rank / SIZE,
                "You left out the RoPE key. Scores run over "
                f"{width} values, not {MLA.kv_lora_rank}.",
            ),
            Mistake(
                width / (2 * SIZE),
                "You compared what's kept. The latent is used twice, as key and as value.",
            ),
            Mistake(
                1,
                "There are just as many heads, but each works on much longer vectors.",
            ),
            Mistake(
                HEADS,
                f"There are {HEADS} heads on both sides, so the number cancels.",
            ),
        ),
    )


ALL = (
    _as_small_as_latent(),
    _beside_latent(),
    _window_or_one_head(),
    _faster(),
    _latent_work(),
)
