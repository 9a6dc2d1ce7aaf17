"""A small language of stories in which the true chance of every next word is known."""

from mini_attn.stories.family import load, shipped
from mini_attn.stories.probabilities import (
    Floor,
    Recall,
    floor,
    next_probabilities,
    row_probabilities,
    who_has,
)
from mini_attn.stories.sampling import sample_rows, sample_story
from mini_attn.stories.vocabulary import START, WORDS, decode, encode

__all__ = [
    "START",
    "WORDS",
    "Floor",
    "Recall",
    "decode",
    "encode",
    "floor",
    "load",
    "next_probabilities",
    "row_probabilities",
    "sample_rows",
    "sample_story",
    "shipped",
    "who_has",
]
