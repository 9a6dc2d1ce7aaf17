"""The predictions of the chapter on attention in tiles: what is read, skipped and merged."""

from __future__ import annotations

from mini_attn import cost
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["AGAIN", "ALL"]


def _passes(tokens: int = 4096, block_q: int = 128, block_k: int = 64) -> Question:
    passes = tokens // block_q
    return Question(
        key="flash/passes",
        text=f"One head, {tokens:,} tokens, no mask. Tiles have {block_q} queries and {block_k} "
        "keys. A block of queries stays in fast memory until all keys have gone by, then the next "
        "block comes. How often is each key read from the large memory?",
        answer=passes,
        unit="times",
        kind="quotient",
        explanation=f"Once per block of queries: {tokens:,} / {block_q} = {passes}. The size of "
        "the blocks of keys doesn't matter.",
        mistakes=(
            Mistake(
                tokens // block_k,
                "That's the number of blocks of keys. Each of them is read again for every "
                "block of "
                f"{block_q} queries.",
            ),
            Mistake(
                tokens,
                "That's once per query, as it would be without blocks. The queries of a "
                "block share "
                "a read.",
            ),
            Mistake(
                tokens // block_q * (tokens // block_k),
                "That's all the tiles. One key is in only one column of them.",
            ),
            Mistake(1, "That would take all queries in fast memory at once."),
            Mistake(block_q, "That's how many queries share a key while it's there."),
            Mistake(
                passes // 2,
                "Half of the tiles can be skipped under a causal mask, but there's no mask here.",
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
                "That's the plain mean. But the second part has more of the sum of exponentials.",
            ),
            Mistake(
                sum(outs),
                "You added the outputs. The parts share a total weight of 1, so average them.",
            ),
            Mistake(
                (sums[1] * outs[0] + sums[0] * outs[1]) / sum(sums),
                "You swapped the weights. Each part counts by its own sum.",
            ),
            Mistake(
                sums[0] * outs[0] + sums[1] * outs[1],
                f"Divide by the total sum, {sum(sums)}.",
            ),
            Mistake(
                0.693147 * outs[0] / 2.484907 + 1.791759 * outs[1] / 2.484907,
                "You weighted by lse itself. The parts count by their sums of exponentials.",
            ),
            Mistake(
                outs[1], "The part with the larger lse gets most of the weight, but not all of it."
            ),
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
        "mask, bfloat16. How many FLOPs of the two products does one head do per byte of keys and "
        "values that it reads from the large memory?",
        answer=answer,
        unit="FLOPs per byte",
        kind="quotient",
        explanation=f"4 × {tokens:,} × {tokens:,} × {size} FLOPs, and {tokens // block} times "
        f"2 × {tokens:,} × {size} numbers of {each} bytes: {answer}, the queries of a block. A "
        f"number that comes in takes {each} bytes and takes part in one multiply-add per query.",
        mistakes=(
            Mistake(
                each * answer,
                f"Keys and values are both read, and each number takes {each} bytes. You "
                "left out one "
                "of these two factors.",
            ),
            Mistake(
                answer // 2,
                "There are two products, scores and weighted sum, and a multiply-add counts as two "
                "FLOPs.",
            ),
            Mistake(
                tokens // block,
                f"That's how often each key is read: {tokens:,} / {block}. How many FLOPs "
                "come with "
                "one byte?",
            ),
            Mistake(
                tokens,
                f"That's with every key read once. Each of the {tokens // block} blocks of "
                "queries reads them again.",
            ),
            Mistake(1, "That's for a single query. The queries of a block share a read."),
            Mistake(
                4 * answer,
                f"Keys and values are both read, and each number takes {each} bytes. You left out "
                "both factors.",
            ),
            Mistake(
                flops // (each * (4 * tokens**2 + 4 * tokens * size)),
                "That's for all bytes of standard attention. Here no scores are moved.",
            ),
        ),
    )  # fmt: skip


def _dead(tokens: int = 2048, block: int = 128) -> Question:
    side = tokens // block
    kept = cost.computed_tiles(tokens, tokens, block_q=block, block_k=block, causal=True)
    return Question(
        key="flash/dead",
        text=f"{tokens:,} tokens attend causally, in tiles of {block} × {block}. How many tiles "
        "are fully masked, so that they can be skipped?",
        answer=side * side - kept,
        unit="tiles",
        kind="count",
        explanation=f"There are {side} × {side} tiles. Those above the diagonal are fully masked: "
        f"{side} × {side - 1} / 2 = {side * side - kept}.",
        mistakes=(
            Mistake(
                side * side // 2,
                "That's half of the square. But the tiles on the diagonal are needed, "
                "because each has "
                "visible pairs.",
            ),
            Mistake(
                kept,
                "Those are the tiles that are computed, including the diagonal. The question "
                "asks for "
                "the others.",
            ),
            Mistake(
                side * (side - 1),
                "Those are all tiles except the diagonal. Half of them are above it.",
            ),
            Mistake(side * side, "Those are all tiles."),
            Mistake(side, "Those are the tiles on the diagonal. They're masked, not skipped."),
            Mistake(
                (side - 1) * (side - 2) // 2,
                f"You're a row of tiles short: the first row has {side - 1} fully masked tiles.",
            ),
            Mistake(
                tokens * (tokens - 1) // 2,
                "You counted pairs of a query and a key. The question asks for tiles.",
            ),
        ),
    )


def _again() -> Question:
    plain, again = 6, 7
    answer = 100 * (again - plain) / plain
    return Question(
        key="flash/again",
        text="Attention has two products over all pairs in the forward pass and four in the "
             "backward "
        "pass. A kernel that keeps no weights computes the scores again in the backward pass. By "
        "how many percent does this raise the FLOPs, forward and backward together (no mask)?",
        answer=answer,
        unit="percent",
        kind="ratio",
        tolerance=0.02,
        explanation=f"All products have the same size. {again} instead of {plain} is "
        f"{answer:.1f}% more.",
        mistakes=(
            Mistake(50, "That's one more product than two. The backward pass has four."),
            Mistake(25, "That's one more product than the four of the backward pass alone."),
            Mistake(
                100 * 2 / 6,
                "You counted two extra products. Only the scores are computed again; the "
                "output was "
                "kept.",
            ),
            Mistake(
                100 / 7,
                "One of seven is the share of the new total. Compare with the old total, 6.",
            ),
            Mistake(
                100 * again / plain,
                "That's the new total in percent of the old one. By how many percent is it higher?",
            ),
            Mistake(
                again / plain, "That's the factor. By how many percent is it above 1?",
            ),
            Mistake(100, "You doubled everything. Only one of the six products is done twice."),
        ),
    )  # fmt: skip


def _programs() -> Question:
    batch, heads, kv_heads, units = 1, 32, 8, 132
    return Question(
        key="flash/programs",
        text=f"A decode step: {batch} sequence, {heads} query heads that share {kv_heads} "
        "key/value "
        f"heads, one query each. The queries of a group are one block, and one multiprocessor "
        f"walks with it over all keys of its key/value head. The device has {units} "
        "multiprocessors. How many of them have no work?",
        answer=units - kv_heads,
        unit="multiprocessors",
        kind="count",
        signed=True,
        explanation=f"One multiprocessor works for each key/value head: {kv_heads} of {units}. "
        f"{units - kv_heads} have none, however long the context is.",
        mistakes=(
            Mistake(
                units - heads,
                "You counted query heads. A group's query heads are one block, so one "
                "multiprocessor "
                "works for each key/value head.",
            ),
            Mistake(
                0,
                "The keys of one head aren't split here: one multiprocessor walks over all "
                "of them. "
                "How many heads of keys are there?",
            ),
            Mistake(
                units - heads - kv_heads,
                "Query heads and key/value heads aren't separate work. A key/value head "
                "comes with its "
                "group of queries.",
            ),
            Mistake(kv_heads, "Those are the ones that have work."),
            Mistake(
                units - heads // kv_heads,
                f"{heads // kv_heads} is the size of a group. There are {kv_heads} groups.",
            ),
            Mistake(units - 1, f"There's one sequence, but it has {kv_heads} key/value heads."),
            Mistake(
                units // kv_heads,
                "That's the number of multiprocessors per key/value head. How many have no work?",
            ),
            Mistake(units, f"{kv_heads} of them do have work, one for each key/value head."),
        ),
    )


ALL = (_passes(), _merge(), _bytes(), _dead(), _again(), _programs())
AGAIN = (
    _passes(3072, 128, 32),
    _passes(2048, 128, 64),
    _passes(8192, 128, 32),
    _dead(4096, 128),
    _dead(1024, 128),
    _dead(3072, 128),
)
