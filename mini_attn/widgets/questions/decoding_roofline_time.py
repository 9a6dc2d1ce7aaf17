"""The predictions of the chapter on prefill and decode that ask for time."""

from __future__ import annotations

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
        text=f"A decode step of Llama-3-8B reads {weights / 1e9:.2f} GB of weights, and an H100 "
        f"reads {RATE / 1e12:.2f} TB/s. It writes one short sequence, so its cache doesn't "
        "count. How many tokens per second can it write at most?",
        answer=answer,
        unit="tokens per second",
        kind="quotient",
        tolerance=0.01,
        explanation=f"Each token reads all weights: {RATE / 1e9:,.0f} / {weights / 1e9:.2f} = "
        f"{RATE / weights:.0f} per second. The arithmetic alone would allow {PEAK / flops:,.0f}.",
        mistakes=(
            Mistake(
                round(PEAK / flops),
                "That's what the arithmetic would allow. The weights don't arrive that fast.",
            ),
            Mistake(2 * answer, "That's one byte per weight. In bfloat16, it's 2."),
            Mistake(
                weights / RATE * 1e3,
                "That's milliseconds per token. Divide 1,000 by it for tokens per second.",
            ),
            Mistake(
                answer * 1000,
                "You're off by a factor of 1,000. It takes milliseconds to read the weights.",
            ),
            Mistake(
                round(RATE / (weights / LLAMA.n_layers)),
                f"That's one layer. A token goes through all {LLAMA.n_layers}.",
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
        f"{cache:.1f} GB of cache, and reading is all that takes time. Now we store the weights in "
        "8 bits instead of 16. What percentage of the time is left?",
        answer=round(share),
        unit="percent",
        kind="share",
        tolerance=0.015,
        explanation=f"({weights / 2:.1f} + {cache:.1f}) / ({weights:.1f} + {cache:.1f}) = "
        f"{share:.0f}%. The step still reads the whole cache.",
        mistakes=(
            Mistake(50, "You've halved the cache too. Only the weights got smaller."),
            Mistake(
                round(100 - share),
                "That's how much time you save. What's left?",
            ),
            Mistake(
                100,
                "The time of this step is the time of its bytes, and some of them are halved.",
            ),
            Mistake(
                round(100 * cache / (weights + cache)),
                "You've left the weights out. They're smaller, but the step still reads them.",
            ),
            Mistake(
                round(100 * (weights + cache / 2) / (weights + cache)),
                "You've halved the cache and left the weights.",
            ),
        ),
    )


def _read_or_write() -> Question:
    tokens = 1000
    weights = cost.step_bytes(LLAMA, kv_len=1)["weights"]
    prefill, step = (cost.step_seconds(LLAMA, DEVICE, q_len=q_len, kv_len=tokens)
                     for q_len in (tokens, 1))  # fmt: skip
    answer = round(prefill / step, 1)
    rough = tokens * weights / PEAK  # 2 FLOPs for each weight of 2 bytes
    return Question(
        key="decoding-roofline/read-or-write",
        text=f"Each token of Llama-3-8B meets {weights / 2e9:.1f} billion weights in bfloat16, "
        f"{weights / 1e9:.0f} GB, with 2 FLOPs per weight. An H100 computes {PEAK / 1e12:.0f} "
        f"TFLOP/s and reads {RATE / 1e12:.2f} TB/s. One user's prompt has {tokens:,} tokens. In "
        "the time of its prefill, how many tokens could the model write, by the bound? (Attention "
        "hardly counts here.)",
        answer=answer,
        unit="tokens",
        kind="ratio",
        tolerance=0.07,
        explanation=f"The prefill computes: {tokens:,} × 2 × {weights / 2e9:.1f} billion FLOPs "
        f"take about {1e3 * rough:.0f} ms. A decode step reads: {weights / 1e9:.0f} GB take "
        f"{1e3 * weights / RATE:.1f} ms. With attention, and logits for the last token only, it's "
        f"{1e3 * prefill:.1f} / {1e3 * step:.1f} = {answer}.",
        mistakes=(
            Mistake(
                tokens,
                "That's as fast as reading. But each written token needs its own read of all "
                "weights.",
            ),
            Mistake(
                1,
                "You've let both wait for the weights. A prefill reads them once too, but then it "
                "has to compute for all its tokens.",
            ),
            Mistake(
                round(1e3 * rough, 1),
                "That's the milliseconds of the prefill. Divide by those of a decode step.",
            ),
            Mistake(
                round(1e3 * weights / RATE, 1),
                "That's the milliseconds of a decode step. Divide those of the prefill by it.",
            ),
            Mistake(
                round(step / prefill, 2),
                "That's upside down. The prefill takes longer than one step.",
            ),
            Mistake(
                round(PEAK / RATE),
                "That's the ridge point: how many rows take as long to compute as the weights take "
                "to read. How long do these take?",
            ),
            Mistake(
                round(rough * RATE / weights / 2, 1),
                "You've counted one FLOP per weight. A multiply-add is 2.",
            ),
        ),
    )


ALL = (_single(), _half(), _read_or_write())
