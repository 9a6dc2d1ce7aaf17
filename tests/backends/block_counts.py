"""What must hold of blocks at any moment, counted by brute force."""

from __future__ import annotations

from collections import Counter


def check_blocks(blocks, tables):
    """References are those of the tables; each free block stands once in the line of free ones."""
    counts = Counter(block for table in tables for block in table)
    assert [blocks.references(i) for i in range(blocks.n_blocks)] == [
        counts[i] for i in range(blocks.n_blocks)
    ]
    line, block = [], blocks._ends.following
    while block is not blocks._ends:
        line.append(block.number)
        assert block.following.previous is block
        assert len(line) <= blocks.n_blocks
        block = block.following
    assert sorted(line) == [i for i in range(blocks.n_blocks) if not counts[i]]
    assert blocks.n_free == len(line)
