"""The loss of a model that only copies."""

import math

period, copies, words = 12, 4, 117
guesses = period + 1  # the first copy, and the word after its last one
REFERENCE = guesses * math.log(words) / (period * copies)

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("the seam is free", 12 * math.log(117) / 48, "by hand", "at the seam"),
    ("no guess after <s>", 11 * math.log(117) / 48, "by hand", "after `<s>`"),
    ("<s> counted", 13 * math.log(117) / 49, "by hand", "start token is given"),
    ("every seam", 15 * math.log(117) / 48, "by hand", "second seam"),
    ("<s> in the vocabulary", 13 * math.log(118) / 48, "by hand", "1/117"),
    ("bits", 13 * math.log2(117) / 48, "by hand", "in bits"),
    ("base ten", 13 * math.log10(117) / 48, "by hand", "base 10"),
    ("the sum", 13 * math.log(117), "by hand", "the sum"),
    ("all guesses", math.log(117), "by hand", "one guess"),
    ("one guess", math.log(117) / 48, "by hand", "single guess"),
    ("none", 0.0, "by hand", "above 0"),
    ("far off", 3.0, "by hand", "guesses of ln 117"),
]
