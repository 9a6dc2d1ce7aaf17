"""The predictions of the chapter on attention in tiles: what is read, skipped and merged."""

from __future__ import annotations

from mini_attn import cost
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]


def _passes() -> Question:
    tokens, block_q, block_k = 4096, 128, 64
    passes = tokens // block_q
    return Question(
        key="flash/passes",
        text=f"One head, {tokens:,} tokens, no mask. Tiles have {block_q} queries and {block_k} "
        "keys. A block of queries stays in fast memory until all keys have passed, then comes the "
        "next block. How often is each key read from the large memory?",
        answer=passes,
        unit="times",
        kind="quotient",
        explanation=f"Once for each block of queries: {tokens:,} / {block_q} = {passes}. The "
        "size of the blocks of keys does not enter.",
        mistakes=(
            Mistake(
                tokens // block_k,
                f"That is how many blocks of keys there are. Each of them is read again for every "
                f"block of {block_q} queries.",
            ),
            Mistake(
                tokens,
                "That would be once for each query, as without blocks of queries. A block of them "
                "shares what is read.",
            ),
            Mistake(
                tokens // block_q * (tokens // block_k),
                "Those are all tiles. One key lies in one column of them only.",
            ),
            Mistake(1, "Only if all queries stayed in fast memory at once."),
            Mistake(block_q, "That is how many queries share a key while it is there."),
            Mistake(
                passes // 2,
                "Half of the tiles can be skipped under a causal mask; here there is none.",
            ),
        ),
    )


def _merge() -> Question:
    sums, outs = (2, 6), (4, 8)
    answer = (sums[0] * outs[0] + sums[1] * outs[1]) / sum(sums)
    return Question(
        key="flash/merge",
        text=f"One query, its keys in two parts. Over the first part the output is {outs[0]} and "
        f"lse = ln {sums[0]}, over the second the output is {outs[1]} and lse = ln {sums[1]}. What "
        "is the output over all keys?",
        answer=answer,
        unit="units",
        kind="quotient",
        signed=True,
        explanation=f"The sums of exponentials are {sums[0]} and {sums[1]}: ({sums[0]} × {outs[0]} "
        f"+ {sums[1]} × {outs[1]}) / {sum(sums)} = {answer:g}.",
        mistakes=(
            Mistake(
                sum(outs) / 2,
                "That is the plain mean. The second part has more of the sum of exponentials.",
            ),
            Mistake(sum(outs), "The parts share the weight 1, so their outputs are averaged."),
            Mistake(
                (sums[1] * outs[0] + sums[0] * outs[1]) / sum(sums),
                "The weights are exchanged: each part counts by its own sum.",
            ),
            Mistake(
                sums[0] * outs[0] + sums[1] * outs[1],
                f"Divide by the whole sum, {sum(sums)}.",
            ),
            Mistake(
                0.693147 * outs[0] / 2.484907 + 1.791759 * outs[1] / 2.484907,
                "The parts count by the sums of exponentials, not by the logarithms of them.",
            ),
            Mistake(outs[1], "The part with the larger lse gets most of the weight, not all."),
        ),
    )


def _bytes() -> Question:
    tokens, size, block, each = 4096, 128, 128, 2
    moved = cost.tiled_traffic(tokens, tokens, head_dim=size, block_q=block, block_k=block)
    flops = 4 * tokens**2 * size
    answer = flops // (each * (moved["k"] + moved["v"]))
    return Question(
        key="flash/bytes",
        text=f"The same loop: {tokens:,} tokens, head_dim {size}, blocks of {block} queries, no "
        "mask, bfloat16. How many FLOPs of the two products does one head do for each byte of "
        "keys and values that it reads from the large memory?",
        answer=answer,
        unit="FLOPs per byte",
        kind="quotient",
        explanation=f"4 × {tokens:,} × {tokens:,} × {size} FLOPs, and {tokens // block} times "
        f"2 × {tokens:,} × {size} numbers of {each} bytes: {answer}, the queries of a block. A "
        f"number that comes in has {each} bytes, and is multiplied and added once for each query.",
        mistakes=(
            Mistake(
                each * answer,
                f"Keys and values are both read, and each number has {each} bytes: one of these "
                "two factors is missing.",
            ),
            Mistake(
                answer // 2,
                "There are two products, scores and weighted sum, and a multiplication with its "
                "addition counts as two FLOPs.",
            ),
            Mistake(
                tokens // block,
                f"That is how often each key is read: {tokens:,} / {block}. How many FLOPs come "
                "with one byte?",
            ),
            Mistake(
                tokens,
                f"That is with every key read once. Each of the {tokens // block} blocks of "
                "queries reads them again.",
            ),
            Mistake(1, "That is for a single query. A block of them shares what is read."),
            Mistake(
                4 * answer,
                f"Keys and values are both read, and each number has {each} bytes: both factors "
                "are missing.",
            ),
            Mistake(
                flops // (each * (4 * tokens**2 + 4 * tokens * size)),
                "That is for all bytes of the plain program. Here no scores are moved.",
            ),
        ),
    )  # fmt: skip


def _dead() -> Question:
    tokens, block = 2048, 128
    side = tokens // block
    kept = cost.computed_tiles(tokens, tokens, block_q=block, block_k=block, causal=True)
    return Question(
        key="flash/dead",
        text=f"{tokens:,} tokens attend causally, in tiles of {block} × {block}. How many tiles "
        "can be skipped because nobody sees anything in them?",
        answer=side * side - kept,
        unit="tiles",
        kind="count",
        explanation=f"There are {side} × {side} tiles. Those above the diagonal are dead: "
        f"{side} × {side - 1} / 2 = {side * side - kept}.",
        mistakes=(
            Mistake(
                side * side // 2,
                "Half of the square, but the tiles on the diagonal are needed: in each of them "
                "somebody sees something.",
            ),
            Mistake(
                kept,
                "That counts the tiles of the diagonal as well. In each of them somebody sees "
                "something: they are computed, and masked.",
            ),
            Mistake(
                side * (side - 1),
                "Those are all tiles but the ones on the diagonal. Half of them lie above it.",
            ),
            Mistake(side * side, "Those are all tiles."),
            Mistake(side, "Those are the tiles on the diagonal. They are masked, not skipped."),
            Mistake(
                (side - 1) * (side - 2) // 2,
                f"A row of tiles too few: the first row has {side - 1} dead ones.",
            ),
            Mistake(
                tokens * (tokens - 1) // 2,
                "Those are pairs of a query and a key. Tiles are asked for.",
            ),
        ),
    )


def _again() -> Question:
    plain, again = 6, 7
    answer = 100 * (again - plain) / plain
    return Question(
        key="flash/again",
        text="Forward, attention has two products over all pairs, backward four. A kernel that "
        "kept no weights makes the scores a second time in the backward pass. By how many percent "
        "does this raise the FLOPs of products, forward and backward together?",
        answer=answer,
        unit="percent",
        kind="ratio",
        tolerance=0.02,
        explanation=f"All products have the same size. {again} instead of {plain} is "
        f"{answer:.1f} % more.",
        mistakes=(
            Mistake(50, "That would be one product more than two. The backward pass has four."),
            Mistake(25, "That is one product more than the four of the backward pass alone."),
            Mistake(
                100 * 2 / 6,
                "Only the scores are made again. The weighted sum is not: its result was kept.",
            ),
            Mistake(
                100 / 7,
                "One of seven is the share in the new total. Compare with the old total, 6.",
            ),
            Mistake(
                100 * again / plain,
                "That is the new total in percent of the old one. By how many percent is it more?",
            ),
            Mistake(
                again / plain, "That is the factor. By how many percent is it above 1?",
            ),
            Mistake(100, "Only one of the six products is done twice, not all of them."),
        ),
    )  # fmt: skip


def _programs() -> Question:
    batch, heads, kv_heads, units = 1, 32, 8, 132
    return Question(
        key="flash/programs",
        text=f"A decode step: {batch} text, {heads} query heads that share {kv_heads} key/value "
        f"heads, one query each. The queries of a group are one block, and one multiprocessor "
        f"walks with it over all keys of its key/value head. The device has {units} "
        "multiprocessors. How many of them have no work?",
        answer=units - kv_heads,
        unit="multiprocessors",
        kind="count",
        signed=True,
        explanation=f"One multiprocessor works for each key/value head: {kv_heads} of {units}. "
        f"{units - kv_heads} have none, however long the text is.",
        mistakes=(
            Mistake(
                units - heads,
                "The query heads of a group are one block: one multiprocessor works for each "
                "key/value head.",
            ),
            Mistake(
                0,
                "Here the keys of one head are not shared out: one multiprocessor walks over all "
                "of them. How many heads of keys are there?",
            ),
            Mistake(
                units - heads - kv_heads,
                "Query heads and key/value heads are not two kinds of work. A key/value head comes "
                "with its group of queries.",
            ),
            Mistake(kv_heads, "Those are the multiprocessors that have work."),
            Mistake(
                units - heads // kv_heads,
                f"{heads // kv_heads} is the size of a group. There are {kv_heads} groups.",
            ),
            Mistake(units - 1, f"There is one text, but it has {kv_heads} key/value heads."),
            Mistake(
                units // kv_heads,
                "That is how many multiprocessors there are for each key/value head. How many "
                "have no work?",
            ),
            Mistake(units, f"{kv_heads} of them do work, one for each key/value head."),
        ),
    )


ALL = (_passes(), _merge(), _bytes(), _dead(), _again(), _programs())
