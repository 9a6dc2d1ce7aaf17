"""The predictions of the chapter on several devices."""

from __future__ import annotations

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

LLAMA, V3 = MODELS["llama-3-8b"], MODELS["deepseek-v3"]
HEADS, KV_HEADS, SIZE = LLAMA.n_heads, LLAMA.n_kv_heads, LLAMA.head_dim


def _speedup() -> Question:
    ranks = 64
    answer = ranks * (1 - cost.idle_share("contiguous", ranks=ranks))
    return Question(
        key="devices/speedup",
        text=f"A causal ring on {ranks} devices, contiguous order, a very long prompt, and "
        "messages that take no time. A round lasts until the slowest device is done. How many "
        "times as fast as a single device is that?",
        answer=round(answer, 1),
        unit="times",
        kind="ratio",
        tolerance=0.02,
        explanation=f"Let a full block take 1. The last device computes half a block in the first "
        f"round and a whole one in each of the other {ranks - 1}: {ranks - 0.5} in all. A single "
        f"device computes half of {ranks}² blocks: {ranks**2 // 2}. The ratio is {answer:.1f}, "
        "half of what you paid for.",
        mistakes=(
            Mistake(ranks, "That would take all devices busy all the time. How many blocks does "
                    "the last device compute?"),
            Mistake(1, "The last device works all the time, but it doesn't do all the work."),
            Mistake(2, "Count blocks: how many does a single device compute, and how many the last "
                    "one of the ring?"),
            Mistake(ranks / 4, "Half of the pairs are masked for the single device too. Don't "
                    "count that twice."),
            Mistake(2 * ranks, f"More than {ranks} devices can do? Check which side you halved for "
                    "the mask."),
            Mistake(ranks**2 // 2, "That's how many blocks a single device computes. How many does "
                    "the last one of the ring?"),
        ),
    )  # fmt: skip


def _latent() -> Question:
    ranks = 8
    latent, heads = (cost.device_cache_values(m, ranks=ranks) for m in (V3, LLAMA))
    whole = cost.device_cache_values(LLAMA, ranks=1)
    return Question(
        key="devices/latent",
        text=f"Per token and layer, Llama-3-8B keeps {whole:,} values: keys and values of "
        f"{KV_HEADS} heads of {SIZE}. DeepSeek-V3 keeps {latent}, a latent and a rotated key. Both "
        f"are split by heads over {ranks} devices. On each device, how many times as large as "
        "Llama's is DeepSeek's cache?",
        answer=latent / heads,
        unit="times",
        kind="ratio",
        tolerance=0.005,
        explanation=f"Each device keeps one of Llama's key/value heads, {heads} values, but the "
        f"whole latent: {latent} / {heads} = {latent / heads}.",
        mistakes=(
            Mistake(latent / whole, f"That's on one device. Which of the two caches can be split "
                    f"over {ranks}?"),
            Mistake(heads / latent, "That's Llama's over DeepSeek's."),
            Mistake(whole / latent, "That's Llama's over DeepSeek's, on a single device."),
            Mistake((V3.kv_lora_rank or 0) / heads, "That's the latent alone. The rotated key is "
                    "there too."),
            Mistake(latent / (heads // 2), "A device keeps keys *and* values of its head."),
            Mistake(1, "They aren't equal. What does one device keep of each?"),
        ),
    )  # fmt: skip


def _window() -> Question:
    ranks = 8
    return Question(
        key="devices/window",
        text=f"A layer has a window, and a prompt is split in zigzag order over {ranks} devices, "
        f"in {2 * ranks} chunks as long as the window. Each device passes its keys on to the next "
        "one. In contiguous order, one exchange would bring every device all the keys it needs. "
        "How many exchanges does zigzag order take?",
        answer=ranks - 1,
        unit="exchanges",
        kind="count",
        explanation="A chunk needs the chunk before it. For a front chunk, that's on the device "
        "before. For a back chunk, it's on the device after, whose block has to go almost all the "
        f"way around: {ranks - 1} exchanges.",
        mistakes=(
            Mistake(1, "That's enough for the front chunks. Which device holds the chunk before a "
                    "back chunk?"),
            Mistake(2, "A back chunk needs keys of the next device, and keys only travel one way. "
                    "How long does it take them to get there?"),
            Mistake(ranks, f"After {ranks} exchanges a device has its own keys back. One fewer is "
                    "enough."),
            Mistake(ranks // 2, "That's the opposite side of the ring. Where's the device after "
                    "you, if keys come from the one before?"),
            Mistake(2 * ranks - 1, f"A device passes on both of its chunks at once, and there are "
                    f"{ranks} devices."),
            Mistake(2 * ranks, f"A device passes on both of its chunks at once, and there are "
                    f"{ranks} devices."),
        ),
    )  # fmt: skip


def _overlap() -> Question:
    ranks, rate, link = 8, cost.DEVICES["h100"].flops_per_second["bfloat16"], 50e9
    answer = 2 * ranks * rate * KV_HEADS / (HEADS * link)
    return Question(
        key="devices/overlap",
        text=f"Llama-3-8B in a zigzag ring of {ranks} H100s: {HEADS} query heads and {KV_HEADS} "
        f"key/value heads of {SIZE}, 2 bytes per value. Each device computes {rate / 1e12:.1f} "
        "TFLOP/s and sends 50 GB/s, at the same time. In a round, it computes half of its queries "
        "times the keys it has, and sends those. From how many tokens of the prompt on does the "
        "message hide behind the products?",
        answer=answer,
        unit="tokens",
        kind="crossover",
        tolerance=0.02,
        explanation=f"With n tokens, a device holds m = n / {ranks}. A round takes m² / 2 pairs of "
        f"4 · {HEADS} · {SIZE} FLOPs, and sends 2 · {KV_HEADS} · {SIZE} · m values of 2 bytes. "
        f"Both take as long at m = {answer / ranks:,.0f}, so n = {answer:,.0f}. With 450 GB/s, "
        f"it's {answer / 9:,.0f}.",
        mistakes=(
            Mistake(answer / 2, "In zigzag order, half of a block's pairs are masked. Without "
                    "that, you'd be right."),
            Mistake(answer / ranks, "That's the tokens of one device. The prompt has "
                    f"{ranks} times as many."),
            Mistake(4 * answer, f"Check two things: only {KV_HEADS} heads travel, not {HEADS}, and "
                    "a pair takes 4 FLOPs for each number of a head, not 1."),
            Mistake(2 * answer, "A pair takes 4 FLOPs for each number of a head: a multiply-add "
                    "with the key, and one with the value."),
            Mistake(answer / 9, "That's with 450 GB/s."),
            Mistake(8 * answer, "The link's 50 GB/s are bytes, not bits."),
        ),
    )  # fmt: skip


def _ulysses() -> Question:
    ranks = 4
    ulysses, ring = (
        cost.communication(LLAMA, ranks=ranks, scheme=scheme).values()
        for scheme in ("ulysses", "ring")
    )
    return Question(
        key="devices/ulysses",
        text=f"Llama-3-8B has {HEADS} query heads and {KV_HEADS} key/value heads of {SIZE}. "
        f"A prompt is split over {ranks} devices. In a ring, each passes on the keys and values it "
        f"has {ranks - 1} times. With Ulysses, it sends {ranks - 1} of {ranks} parts of its "
        "queries, keys, values and outputs, once. How many times as much as in the ring is that?",
        answer=ulysses / ring,
        unit="times",
        kind="ratio",
        tolerance=0.005,
        explanation=f"Per token of the prompt, a device sends {ring:,} values in the ring: "
        f"2 · {KV_HEADS} · {SIZE} / {ranks}, {ranks - 1} times. With Ulysses it sends {ulysses:,}: "
        f"(2 · {HEADS} + 2 · {KV_HEADS}) · {SIZE} / {ranks} · {ranks - 1}/{ranks}. Ulysses sends "
        f"more here. With {2 * ranks} devices, it sends less.",
        mistakes=(
            Mistake(ring / ulysses, "That's the ring's over Ulysses'."),
            Mistake((HEADS + KV_HEADS) / KV_HEADS, f"A ring's block is sent {ranks - 1} times, and "
                    f"with Ulysses everything once, {ranks - 1} of {ranks} parts."),
            Mistake(1 / ranks, "Did you count queries and outputs? Their "
                    f"heads are {HEADS} each."),
            Mistake((HEADS + 2 * KV_HEADS) / (2 * KV_HEADS) / ranks, "You counted queries, keys "
                    "and values. The outputs travel back as well."),
            Mistake(4 / (2 * ranks), f"You gave all four the same size. There are {HEADS} heads of "
                    f"queries and outputs and {KV_HEADS} of keys and values."),
            Mistake(HEADS / KV_HEADS, "That's how many queries share a key. Write down what a "
                    "device sends in each scheme."),
            Mistake(1, "They aren't equal. Write down what a device sends in each scheme."),
        ),
    )  # fmt: skip


def _decode() -> Question:
    ranks, context = 8, 131_072
    answer = cost.communication(LLAMA, ranks=ranks, scheme="split-cache").values()
    return Question(
        key="devices/decode",
        text=f"A cache of {context:,} tokens of Llama-3-8B is split by positions over {ranks} "
        f"devices. For the next token, each device has attended to its share, for all {HEADS} "
        f"heads of {SIZE}. In one layer, how many values does a device send, if it tells every "
        "other device what it takes to merge?",
        answer=answer,
        unit="values",
        kind="product",
        tolerance=0.002,
        explanation=f"For each head an output of {SIZE} values and a log-sum-exp, to {ranks - 1} "
        f"others: {HEADS} · {SIZE + 1} · {ranks - 1} = {answer:,}. How long the text is doesn't "
        "matter.",
        mistakes=(
            Mistake((ranks - 1) * HEADS * SIZE, "Outputs alone can't be merged. How does a device "
                    "know what another's output weighs?"),
            Mistake(HEADS * (SIZE + 1), f"That's for one other device. There are {ranks - 1}."),
            Mistake(HEADS * SIZE, "Each head also needs its log-sum-exp, and there are "
                    f"{ranks - 1} other devices."),
            Mistake(ranks * HEADS * (SIZE + 1), "A device needn't send anything to itself."),
            Mistake((ranks - 1) * 2 * KV_HEADS * SIZE * context // ranks, "You send the cache. "
                    "Keys and values can stay where they are. What comes of attending to them?"),
            Mistake((ranks - 1) * KV_HEADS * (SIZE + 1), f"Every query head has its own output, "
                    f"and there are {HEADS} of them."),
            Mistake((ranks - 1) * HEADS * (SIZE + 2), "One log-sum-exp is enough: maximum and sum "
                    "in one number."),
            Mistake((ranks - 1) * 2 * KV_HEADS * SIZE, "Those are the new token's keys and values. "
                    "One device keeps them, and nobody else needs them."),
        ),
    )  # fmt: skip


ALL = (_speedup(), _latent(), _window(), _overlap(), _ulysses(), _decode())
