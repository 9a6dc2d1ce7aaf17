"""The predictions of the chapter on which keys may stay: what it costs to select them."""

from __future__ import annotations

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

V3 = MODELS["deepseek-v3"]  # the heads and the latent of V3.2


def _blocks() -> Question:
    context, span, stride, block, blocks, window = 65_536, 32, 16, 64, 16, 512
    answer = cost.block_reads(
        context, span=span, stride=stride, block_size=block, n_blocks=blocks, window=window
    )
    short = context // stride - 1
    chosen = block * blocks
    return Question(
        key="fewer-keys/blocks",
        text=f"At {context:,} tokens a query reads one compressed key for each span of {span} "
        f"tokens, where a span begins every {stride}; {blocks} blocks of {block} keys in full; "
        f"and the last {window} keys. How many keys is that?",
        answer=answer,
        unit="keys",
        kind="sum",
        explanation=f"({context:,} − {span}) / {stride} + 1 = {short:,} compressed keys, "
        f"{blocks} × {block} = {chosen:,} selected ones and {window}: {answer:,}, "
        f"{context / answer:.1f} times fewer than all.",
        mistakes=(
            Mistake(answer - 1, f"Nearly. The first span begins at 0 and counts too: {short:,} "
                    "spans, one more than the steps between them."),
            Mistake(answer + 1, f"Nearly. The last span has to end with the text: there are "
                    f"{short:,} of them, not {short + 1:,}."),
            Mistake(chosen + window, "You left out the compressed keys. The query reads them "
                "first, "
                    "to find the best blocks."),
            Mistake(context // span + chosen + window, f"Your spans don't overlap. One begins "
                f"every "
                    f"{stride} tokens."),
            Mistake(short + blocks + window, f"You counted one key per block. All {block} are "
                    "read."),
            Mistake(short + chosen, f"You left out the window of {window}."),
            Mistake(short + window, "You left out the selected blocks."),
            Mistake(context, "That's all of them."),
        ),
    )  # fmt: skip


def _indexer() -> Question:
    context, topk, heads, width = 131_072, 2048, 64, 128
    pair = 2 * V3.n_heads * sum(cost.LatentCost().dims_per_pair(V3))
    choice = cost.indexer_flops(heads, width, pairs=context)
    read = topk * pair
    share = 100 * choice / (choice + read)
    return Question(
        key="fewer-keys/indexer",
        text=f"Take a step at {context:,} tokens. The indexer scores every key, at "
        f"{cost.indexer_flops(heads, width):,} FLOPs per key and layer. Attention then reads the "
        f"best {topk:,}, at {pair:,} FLOPs per key. What percentage of the FLOPs of both is the "
        "indexer's?",
        answer=round(share),
        unit="percent",
        kind="share",
        tolerance=0.02,
        explanation=f"{choice / 1e9:.2f} of {(choice + read) / 1e9:.2f} GFLOP, {share:.0f}%: a "
        f"key is {pair * context / choice:.0f} times cheaper, but there are {context // topk} "
        "times as many.",
        mistakes=(
            Mistake(100 - round(share), "That's the share of attention to the selected keys."),
            Mistake(round(100 * choice / (context * pair)), "You compared the two for equally "
                    "many keys: one each, or all in both."),
            Mistake(100 * choice / read, "You divided the one by the other. A share is a part of "
                    "both."),
            Mistake(100 / (1 + pair * context / choice), "That's for one key each. There are "
                    f"{context:,} in the indexer and {topk:,} in attention."),
            Mistake(round(100 * context / (context + topk)), "You counted keys. A key costs "
                    f"{pair * context / choice:.0f} times as much in attention as in the indexer."),
            Mistake(100 * topk / context, "That's the share of the keys that attention reads."),
            Mistake(round(100 * topk / context, 1), "That's the share of the keys that attention "
                    "reads."),
            Mistake(share / 100, "That's the share of 1. We asked for percent."),
        ),
    )  # fmt: skip


ALL = (_blocks(), _indexer())
