"""The predictions of the chapter on prefill and decode that ask for time."""

from __future__ import annotations

from typing import Any

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

LLAMA, DEVICE = MODELS["llama-3-8b"], cost.DEVICES["h100"]
RATE, PEAK = DEVICE.bytes_per_second, DEVICE.flops_per_second["bfloat16"]


def _single() -> Question:
    weights = cost.step_bytes(LLAMA, kv_len=1)["weights"]
    answer = round(RATE / weights)
    flops = cost.decode_step_flops(LLAMA, kv_len=1)
    return Question(
        key="decoding-roofline/single",
        text=f"A decode step of Llama-3-8B reads {weights / 1e9:.2f} GB of weights. An H100 reads "
        f"{RATE / 1e12:.2f} TB/s. For one short conversation, whose cache does not count: how many "
        "tokens a second can it write at the most?",
        answer=answer,
        unit="tokens a second",
        kind="quotient",
        tolerance=0.01,
        explanation=f"Each token reads all weights: {RATE / 1e9:,.0f} / {weights / 1e9:.2f} = "
        f"{RATE / weights:.0f} a second. The arithmetic alone would allow {PEAK / flops:,.0f}.",
        mistakes=(
            Mistake(
                round(PEAK / flops),
                "That is what the arithmetic would allow. The weights do not arrive that fast.",
            ),
            Mistake(2 * answer, "That is with one byte a weight. In bfloat16 it has 2."),
            Mistake(
                weights / RATE * 1e3,
                "That is milliseconds for one token. Tokens a second are 1,000 divided by it.",
            ),
            Mistake(
                answer * 1000,
                "A factor 1,000: a TB is 1,000 GB, and it takes milliseconds to read the weights.",
            ),
            Mistake(
                round(RATE / (weights / LLAMA.n_layers)),
                f"That is one layer. A token goes through all {LLAMA.n_layers}.",
            ),
        ),
    )


def _half() -> Question:
    batch, context = 16, 8192
    moved = cost.step_bytes(LLAMA, kv_len=context, batch=batch)
    weights, cache = moved["weights"] / 1e9, moved["cache read"] / 1e9
    share = 100 * (weights / 2 + cache) / (weights + cache)
    return Question(
        key="decoding-roofline/half",
        text=f"A decode step for {batch} sequences reads {weights:.1f} GB of weights and "
        f"{cache:.1f} GB of cache, and reading is all that takes time. Now the weights are stored "
        "in 8 bits instead of 16. To how many percent of what it was does the time fall?",
        answer=round(share),
        unit="percent",
        kind="share",
        tolerance=0.015,
        explanation=f"({weights / 2:.1f} + {cache:.1f}) / ({weights:.1f} + {cache:.1f}) = "
        f"{share:.0f} %: the cache is read as before.",
        mistakes=(
            Mistake(50, "That halves the cache too. Only the weights became smaller."),
            Mistake(
                round(100 - share),
                "That is how much it falls *by*. What is left of the time?",
            ),
            Mistake(
                100,
                "The time of this step is the time of its bytes, and a part of them is halved.",
            ),
            Mistake(
                round(100 * cache / (weights + cache)),
                "That leaves the weights out. They are smaller, but still read.",
            ),
            Mistake(
                round(100 * (weights + cache / 2) / (weights + cache)),
                "That halves the cache and leaves the weights.",
            ),
        ),
    )


def _prefill() -> Question:
    context = 8192
    sizes: dict[str, Any] = {"q_len": context, "kv_len": context}
    parts = cost.step_operations(LLAMA, **sizes)
    flops, moved = (sum(part[i] for part in parts.values()) for i in (0, 1))
    seconds = flops / PEAK
    answer = round(1e3 * seconds)
    waits = 1e3 * (cost.step_seconds(LLAMA, DEVICE, **sizes) - seconds)
    return Question(
        key="decoding-roofline/prefill",
        text=f"The prefill of {context:,} tokens takes {flops / 1e12:.0f} TFLOP in Llama-3-8B and "
        f"moves {moved / 1e9:.1f} GB of weights and cache. An H100 does {PEAK / 1e12:.0f} TFLOP/s "
        f"and reads {RATE / 1e12:.2f} TB/s. How many milliseconds does it take at the least?",
        answer=answer,
        unit="milliseconds",
        kind="quotient",
        tolerance=0.02,
        explanation=f"Arithmetic takes {flops / 1e12:.0f} / {PEAK / 1e12:.0f} s = {answer} ms, "
        f"reading {1e3 * moved / RATE:.1f} ms. In layers and attention alike the arithmetic takes "
        f"longer, so it counts; only the logits wait for their matrix, {waits:.1f} ms more.",
        mistakes=(
            Mistake(
                round(1e3 * moved / RATE, 1),
                "That is the reading. Here the arithmetic takes longer.",
            ),
            Mistake(
                round(1e3 * (seconds + moved / RATE)),
                "That adds the two. Within an operation they go on side by side: the longer one "
                "counts.",
            ),
            Mistake(
                round(1e3 * context * moved / RATE),
                "That reads the weights for every token. In a prefill all tokens share one "
                "reading.",
            ),
            Mistake(2 * answer, "That counts a multiply-add twice: TFLOP counts both already."),
            Mistake(answer / 1e3, "That is seconds."),
        ),
    )


ALL = (_single(), _half(), _prefill())
