"""The predictions of the chapter on prefill and decode that ask for FLOPs per byte."""

from __future__ import annotations

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

LLAMA, V3 = MODELS["llama-3-8b"], MODELS["deepseek-v3"]
GROUP = LLAMA.n_heads // LLAMA.n_kv_heads


def _eight_bits() -> Question:
    device = cost.DEVICES["b200"]
    rate, whole = device.bytes_per_second, device.flops_per_second["bfloat16"]
    peak, each = 4 * whole, 0.5
    rows = peak / rate * each / 2
    return Question(
        key="decoding-roofline/eight-bits",
        text=f"A B200 computes {peak / 1e12:,.0f} TFLOP/s in FP4 and reads {rate / 1e12:.0f} TB/s, "
        f"so its ridge point is at {peak / rate:,.0f} FLOPs per byte. In bfloat16, it computes a "
        "quarter of that. FP4 weights take half a byte each. How many rows does a matmul in FP4 "
        "need to reach the ridge point?",
        answer=round(rows),
        unit="rows",
        kind="quotient",
        tolerance=0.005,
        explanation=f"A weight of {each} bytes does 2 FLOPs for each row, so each row adds "
        f"{2 / each:.0f} FLOPs per byte: {peak / rate:,.0f} / {2 / each:.0f} = {rows:.0f}. In "
        f"bfloat16 it's {whole / rate:.0f} FLOPs per byte, and a row adds 1: the same number of "
        "rows.",
        mistakes=(
            Mistake(
                peak / rate,
                "That's FLOPs per byte. In bfloat16, a row adds 1 of them, but an FP4 weight is "
                "four times as small.",
            ),
            Mistake(
                peak / rate / 2,
                "You've counted one FLOP per weight and row. A multiply-add is 2, and a weight is "
                "only half a byte.",
            ),
            Mistake(
                2 * peak / rate,
                "You've multiplied where you should divide. A smaller weight makes each row count "
                "for more FLOPs per byte.",
            ),
            Mistake(
                4 * peak / rate,
                "You've multiplied by 4. But each row adds 4 FLOPs per byte, so divide by it.",
            ),
            Mistake(
                rows / 4,
                "That's 4-bit weights with bfloat16 arithmetic. Here, the arithmetic is in FP4.",
            ),
        ),
    )


def _attention_batch() -> Question:
    batch = 64
    return Question(
        key="decoding-roofline/attention-batch",
        text=f"A decode step of Llama-3-8B ({LLAMA.n_heads} query heads, {LLAMA.n_kv_heads} "
        f"key/value heads, 2 bytes per value) runs for {batch} sequences at once. How many FLOPs "
        "does its attention do per byte of the cache?",
        answer=GROUP,
        unit="FLOPs per byte",
        kind="quotient",
        explanation=f"Each sequence brings its own cache, so the batch cancels. A value of 2 bytes "
        f"is used by {LLAMA.n_heads} / {LLAMA.n_kv_heads} = {GROUP} query heads, 2 FLOPs each.",
        mistakes=(
            Mistake(
                batch * GROUP,
                f"You'd need one cache for all {batch} sequences. A batch shares the weights, but "
                "not the caches.",
            ),
            Mistake(batch, "That's the weight matmuls. The batch shares the weights."),
            Mistake(
                1,
                f"That's multi-head attention. Here, {GROUP} query heads read each value.",
            ),
            Mistake(
                LLAMA.n_kv_heads,
                "That's the number of key/value heads. How many query heads read each of them?",
            ),
            Mistake(
                GROUP / 2,
                "That's float32. With 2 bytes per value, it's twice as many FLOPs per byte.",
            ),
            Mistake(
                LLAMA.n_heads,
                f"You've let all query heads read one key/value head. It has {LLAMA.n_kv_heads}.",
            ),
        ),
    )


def _latent() -> Question:
    key, value = V3.kv_lora_rank + V3.qk_rope_head_dim, V3.kv_lora_rank
    answer = round(cost.cache_intensity(V3), 1)
    return Question(
        key="decoding-roofline/latent",
        text=f"DeepSeek-V3 caches one vector of {key} values per token, 2 bytes each. In a decode "
        f"step, {V3.n_heads} heads use all {key} of them as a key, and {value} of the same ones "
        "as a value. How many FLOPs is that per byte of the cache, if it's read once?",
        answer=round(answer),
        unit="FLOPs per byte",
        kind="quotient",
        tolerance=0.005,
        explanation=f"2 × {V3.n_heads} × ({key} + {value}) FLOPs for {key} × 2 bytes: {answer}.",
        mistakes=(
            Mistake(
                V3.n_heads,
                f"That's the scores. {value} of the values are used again, for the weighted sum.",
            ),
            Mistake(
                2 * V3.n_heads,
                f"You've used all {key} for the weighted sum too. {key - value} of them carry the "
                "position and are only part of the key.",
            ),
            Mistake(
                2 * answer,
                "That's FLOPs per value. A value has 2 bytes.",
            ),
            Mistake(1, "That's one head per key. Here, all heads read one vector."),
            Mistake(
                round(answer / 2),
                "That's with 4 bytes per value. Here it's 2.",
            ),
        ),
    )


ALL = (_eight_bits(), _attention_batch(), _latent())
