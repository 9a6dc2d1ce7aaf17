"""The merges of the picture `MergeSteps`, learned from a sample of this book's prose."""

from __future__ import annotations

from mini_attn.example.prose import PROSE
from mini_attn.tokens import BytePairs, learn_merges
from mini_attn.widgets.schema import load_schema

__all__ = ["merge_steps"]


def merge_steps() -> list[str]:
    """Return each learned merge as the ids of the two tokens that it joins.

    Returns
    -------
    list of str
        One line per merge, ``left right``, in the order in which they were learned.
    """
    merges = learn_merges(PROSE, load_schema("merge_steps")["merges"]["max"], pattern="gpt2")
    tokenizer = BytePairs.from_merges(merges, pattern="gpt2")
    ids = {tokenizer.token_bytes(id): id for id in range(tokenizer.n_tokens)}
    return [f"{ids[left]} {ids[right]}" for left, right in merges]
