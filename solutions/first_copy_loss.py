"""The loss of a model that only copies."""

import math

period, copies, words = 13, 3, 117
guesses = period + 1  # the first copy, and the word after its last one
REFERENCE = guesses * math.log(words) / (period * copies)


WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("the seam is free", 13 * math.log(117) / 39, "by hand", "at the seam"),
    ("no guess after <s>", 12 * math.log(117) / 39, "by hand", "after `<s>`"),
    ("<s> counted", 14 * math.log(117) / 40, "by hand", "start token is given"),
    ("every seam", 15 * math.log(117) / 39, "by hand", "second seam"),
    ("<s> in the vocabulary", 14 * math.log(118) / 39, "by hand", "1/117"),
    ("bits", 14 * math.log2(117) / 39, "by hand", "in bits"),
    ("base ten", 14 * math.log10(117) / 39, "by hand", "base 10"),
    ("the sum", 14 * math.log(117), "by hand", "the sum"),
    ("two copies", 14 * math.log(117) / 26, "by hand", "by two copies"),
    ("one copy", 14 * math.log(117) / 13, "by hand", "by one copy"),
    ("two copies guessed", 26 * math.log(117) / 39, "by hand", "whole second copy"),
    ("guesses within the block", 14 * math.log(13) / 39, "by hand", "among all 117"),
    ("all guesses", math.log(117), "by hand", "one guess"),
    ("one guess", math.log(117) / 39, "by hand", "single guess"),
    ("none", 0.0, "by hand", "above 0"),
    ("far off", 3.0, "by hand", "guesses of ln 117"),
    ("116 words", 14 * math.log(116) / 39, "by hand", "among 117"),
]
