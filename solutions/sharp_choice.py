"""The score of a clear favourite."""

import math

# e^s / (e^s + 4) = 0.9  <=>  e^s = 36
REFERENCE = math.log(0.9 / 0.1 * 4)

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("one other key", math.log(9), "by hand", "Four of them"),
    ("five others", math.log(45), "by hand", "four others"),
    ("no logarithm", 36, "by hand", "exponential of the score"),
    ("base ten", math.log10(36), "by hand", "natural"),
    ("base two", math.log2(36), "by hand", "natural"),
    ("divided by four", math.log(9 / 4), "by hand", "so multiply"),
    ("the weight", 0.9, "by hand", "That's the weight"),
    ("half", math.log(4), "by hand", "weight of 0.5"),
    ("its own power left out", math.log(3.6), "by hand", "five terms"),
    ("a score of 0 counts nothing", math.log(0.9), "by hand", "e to the 0 is 1"),
    ("another", 5.0, "by hand", "gives the weight"),
    ("sign", -math.log(36), "by hand", "below 0"),
    ("a text", "3.58", "type", "one number"),
    ("ratio of the weights", 9, "by hand", "ratio of exponentials"),
]
