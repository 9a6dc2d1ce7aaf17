"""The predictions of the chapter that compares the variants."""

from __future__ import annotations

from mini_attn import cost
from mini_attn.variants import REGISTRY
from mini_attn.widgets.comparison_data import ONE_SHAPE
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

GQA, MQA, MLA, WINDOWED = (ONE_SHAPE[name] for name in ("gqa", "mqa", "mla", "sliding_window"))
HEADS, SIZE, LAYERS = GQA.n_heads, GQA.head_dim, GQA.n_layers


def _family() -> Question:
    divisors = [n for n in range(1, HEADS + 1) if HEADS % n == 0]
    return Question(
        key="choosing/family",
        text=f"A layer has {HEADS} query heads. How many different grouped-query layers are there, "
        "by the number of key/value heads, if multi-head and multi-query attention count as its "
        "two ends?",
        answer=len(divisors),
        unit="layers",
        kind="count",
        explanation=f"The key/value heads have to divide the {HEADS} query heads: "
        f"{', '.join(map(str, divisors))}.",
        mistakes=(
            Mistake(
                HEADS,
                "Not every number works: each key/value head serves equally many query heads, so "
                f"it has to divide {HEADS}.",
            ),
            Mistake(len(divisors) - 1, "One end is missing: both count."),
            Mistake(len(divisors) - 2, "Those are the ones between. Both ends count as well."),
            Mistake(3, "The three names are two ends and all that lies between."),
            Mistake(2, "Those are the two ends. What lies between counts, too."),
            Mistake(
                GQA.n_kv_heads,
                f"{GQA.n_kv_heads} is what one published model chose, one of the possible numbers.",
            ),
        ),
    )


def _beside_latent() -> Question:
    numbers = MLA.kv_lora_rank + MLA.qk_rope_head_dim
    answer = numbers // (2 * SIZE)
    return Question(
        key="choosing/beside-latent",
        text=f"Latent attention keeps {MLA.kv_lora_rank} + {MLA.qk_rope_head_dim} = {numbers} "
        "numbers a token and layer. What is the largest number of key/value heads of "
        f"{SIZE} with which grouped-query attention keeps fewer?",
        answer=answer,
        unit="heads",
        kind="quotient",
        explanation=f"A key/value head keeps a key and a value, {2 * SIZE} numbers; {answer} heads "
        f"keep {answer * 2 * SIZE}, {answer + 1} would keep {(answer + 1) * 2 * SIZE}.",
        mistakes=(
            Mistake(
                numbers // SIZE,
                "Each key/value head keeps two vectors, a key and a value.",
            ),
            Mistake(answer + 1, f"{answer + 1} heads keep {(answer + 1) * 2 * SIZE}: more."),
            Mistake(
                numbers / (2 * SIZE),
                "That is the right ratio. Heads come whole, and the cache should be smaller.",
            ),
            Mistake(
                numbers / SIZE,
                "Each key/value head keeps two vectors, a key and a value; and heads come whole.",
            ),
            Mistake(1, "That is multi-query attention. One head more still keeps fewer."),
            Mistake(
                GQA.n_kv_heads,
                f"{GQA.n_kv_heads} heads keep {GQA.n_kv_heads * 2 * SIZE:,} numbers, several "
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
        "equally large?",
        answer=answer,
        unit="tokens",
        kind="crossover",
        tolerance=0.005,
        explanation=f"{window:,} tokens × {kv_heads} heads = {answer:,} tokens × 1 head; beyond "
        "that the window keeps less.",
        mistakes=(
            Mistake(
                window,
                f"There the window begins to cut. Up to {kv_heads} times as far it still holds "
                "more, as it has more heads.",
            ),
            Mistake(
                window // kv_heads,
                "The other way round: the layer with one head needs more tokens to fill as much, "
                "not fewer.",
            ),
            Mistake(
                2 * answer,
                "Keys and values are kept in both layers; the factor 2 cancels.",
            ),
            Mistake(
                window * HEADS,
                f"The window's layer has {kv_heads} key/value heads. The {HEADS} query heads "
                "leave nothing in the cache.",
            ),
            Mistake(
                answer // 2,
                "Keys and values are kept in both layers; nothing is halved.",
            ),
        ),
    )


def _as_much_as_weights() -> Question:
    context = 8192
    weights = cost.step_bytes(GQA, kv_len=context)["weights"]
    one = cost.cache_bytes(GQA, batch=1, context=context)
    answer = -(-weights // one)
    return Question(
        key="choosing/as-much-as-weights",
        text=f"In a decode step the model of Llama-3-8B's shape reads {weights / 1e9:.2f} GB of "
        f"weights once, and {one / 1e9:.3f} GB of cache for each sequence of {context:,} tokens. "
        "From how many sequences on does it read more cache than weights?",
        answer=answer,
        unit="sequences",
        kind="quotient",
        explanation=f"{weights / 1e9:.2f} / {one / 1e9:.3f} = {weights / one:.2f}, so {answer - 1} "
        f"sequences read less than the weights and {answer} more.",
        mistakes=(
            Mistake(answer - 1, "With that many the weights are still the larger part: round up."),
            Mistake(
                round(weights / one, 2),
                "The ratio is right; sequences come whole.",
            ),
            Mistake(
                -(-weights * LAYERS // one),
                "That takes the cache of one layer. The figure holds all layers.",
            ),
            Mistake(1, "One sequence reads far less than the weights: compare the two figures."),
            Mistake(
                2 * answer,
                "Keys and values are both in the figure already.",
            ),
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
        f"{MLA.kv_lora_rank} + {MLA.qk_rope_head_dim} numbers and sums values of "
        f"{MLA.kv_lora_rank}. A head of multi-head attention does {SIZE} and {SIZE}. How many "
        "times as many FLOPs does the latent form spend on each cached token?",
        answer=answer,
        unit="times",
        kind="ratio",
        tolerance=0.005,
        explanation=f"({width} + {MLA.kv_lora_rank}) / ({SIZE} + {SIZE}) = {answer}: a smaller "
        "cache, paid for with arithmetic.",
        mistakes=(
            Mistake(
                width / SIZE,
                "Those are the scores alone. The weighted sum runs over the latent as well.",
            ),
            Mistake(
                MLA.kv_lora_rank / SIZE,
                "The rotated key takes part in the scores: they run over "
                f"{width} numbers, not {MLA.kv_lora_rank}.",
            ),
            Mistake(
                width / (2 * SIZE),
                "That compares what is kept. The latent is used twice, as key and as value.",
            ),
            Mistake(
                1,
                "The heads are as many, but each works on much longer vectors.",
            ),
            Mistake(
                HEADS,
                f"There are {HEADS} heads on both sides: the number cancels.",
            ),
        ),
    )


ALL = (
    _family(),
    _beside_latent(),
    _window_or_one_head(),
    _as_much_as_weights(),
    _latent_work(),
)
