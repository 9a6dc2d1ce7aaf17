"""The predictions of the chapter on prefill and decode that ask for FLOPs per byte."""

from __future__ import annotations

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

LLAMA, V3 = MODELS["llama-3-8b"], MODELS["deepseek-v3"]
GROUP = LLAMA.n_heads // LLAMA.n_kv_heads


def _ridge() -> Question:
    device = cost.DEVICES["a100"]
    flops, rate = device.flops_per_second["bfloat16"], device.bytes_per_second
    answer = round(flops / rate)
    return Question(
        key="decoding-roofline/ridge",
        text=f"An A100 multiplies at {flops / 1e12:.0f} TFLOP/s in bfloat16 and reads its memory "
        f"at {rate / 1e12:.3f} TB/s. How many FLOPs must a computation do for each byte that it "
        "reads, so that arithmetic and memory take equally long?",
        answer=answer,
        unit="FLOPs per byte",
        kind="quotient",
        tolerance=0.01,
        explanation=f"{flops / 1e12:.0f} / {rate / 1e12:.3f} = {flops / rate:.0f}: the ridge of "
        "its roofline. With fewer, the arithmetic units wait.",
        mistakes=(
            Mistake(
                2 * answer, "That is FLOPs for each number of 2 bytes. The question is a byte."
            ),
            Mistake(
                answer / 2, "That is multiply-adds. Each is 2 FLOPs, and the rate counts FLOPs."
            ),
            Mistake(
                rate / flops,
                "That is bytes for each FLOP: the quotient is the other way round.",
            ),
            Mistake(
                round(flops / rate * 1000),
                "A factor 1,000: both rates are in units of 10^12.",
            ),
            Mistake(flops / 1e12, "That is the rate of the arithmetic. Divide it by the memory's."),
        ),
    )


def _rows() -> Question:
    batch = 24
    return Question(
        key="decoding-roofline/rows",
        text=f"A decode step multiplies {batch} rows, one for each sequence, with a weight matrix "
        "in bfloat16. Only the matrix counts as read. How many FLOPs does it do for each byte?",
        answer=batch,
        unit="FLOPs per byte",
        kind="quotient",
        explanation=f"A weight is read once (2 bytes) and used for {batch} rows, 2 FLOPs each: "
        f"2 × {batch} / 2 = {batch}.",
        mistakes=(
            Mistake(2 * batch, "That is FLOPs for each weight. A weight has 2 bytes."),
            Mistake(batch / 2, "That is float32, where a weight has 4 bytes."),
            Mistake(
                1,
                f"That is one row. The same weight serves all {batch}, and is read once.",
            ),
            Mistake(
                2,
                f"That is one multiply-add for each weight. It does {batch} of them, and has "
                "2 bytes.",
            ),
            Mistake(
                batch * batch, "The rows do not multiply each other: each meets the weight once."
            ),
        ),
    )


def _attention_batch() -> Question:
    batch = 64
    return Question(
        key="decoding-roofline/attention-batch",
        text=f"A decode step of Llama-3-8B ({LLAMA.n_heads} query heads, {LLAMA.n_kv_heads} "
        f"key/value heads, 2 bytes a number) runs for {batch} sequences at once. How many FLOPs "
        "does its attention do for each byte of the cache?",
        answer=GROUP,
        unit="FLOPs per byte",
        kind="quotient",
        explanation=f"Each sequence brings a cache of its own, so the batch cancels. A number of 2 "
        f"bytes is used by {LLAMA.n_heads} / {LLAMA.n_kv_heads} = {GROUP} query heads, 2 FLOPs "
        "each.",
        mistakes=(
            Mistake(
                batch * GROUP,
                f"That would need one cache for all {batch} sequences. Weights are shared by the "
                "batch, caches are not.",
            ),
            Mistake(batch, "That is the products with weights, which the batch shares."),
            Mistake(
                1,
                f"That is multi-head attention. Here {GROUP} query heads read each number.",
            ),
            Mistake(
                LLAMA.n_kv_heads,
                "That is the number of key/value heads. How many query heads read each of them?",
            ),
            Mistake(
                GROUP / 2,
                "That is float32. In 2 bytes a number the FLOPs of its use are twice as many a "
                "byte.",
            ),
            Mistake(
                LLAMA.n_heads,
                "That is multi-query attention, where all query heads read one key/value head.",
            ),
        ),
    )


def _latent() -> Question:
    key, value = V3.kv_lora_rank + V3.qk_rope_head_dim, V3.kv_lora_rank
    answer = round(cost.cache_intensity(V3), 1)
    return Question(
        key="decoding-roofline/latent",
        text=f"DeepSeek-V3 caches one vector of {key} numbers a token (2 bytes each). In a decode "
        f"step {V3.n_heads} heads use all {key} of them as a key and {value} of them, the same "
        "ones, as a value. How many FLOPs is that for each byte of the cache, if it is read once?",
        answer=round(answer),
        unit="FLOPs per byte",
        kind="quotient",
        tolerance=0.005,
        explanation=f"2 × {V3.n_heads} × ({key} + {value}) FLOPs for {key} × 2 bytes: {answer}.",
        mistakes=(
            Mistake(
                V3.n_heads,
                f"That is the scores alone. The {value} numbers are used once more, as values.",
            ),
            Mistake(
                2 * V3.n_heads,
                f"That takes all {key} numbers as values too. Of the key's numbers, {key - value} "
                "carry the position and are no value.",
            ),
            Mistake(
                2 * answer,
                "That is FLOPs for each number. A number has 2 bytes.",
            ),
            Mistake(1, "That is one head for each key. Here all heads read one vector."),
            Mistake(
                round(answer / 2),
                "That is with 4 bytes a number. Here it has 2.",
            ),
        ),
    )


ALL = (_ridge(), _rows(), _attention_batch(), _latent())
