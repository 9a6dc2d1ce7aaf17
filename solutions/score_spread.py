"""The spread of the scores under the wrong scale."""

import math

one_product = 1**2 * 2**2
spread = math.sqrt(64 * one_product)
REFERENCE = spread / math.sqrt(768)

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("not divided", 16.0, "by hand", "still have to divide"),
    ("the right scale", 2.0, "by hand", "root of d_model"),
    ("key's spread forgotten", 8 / math.sqrt(768), "by hand", "standard deviation 2"),
    ("key's variance", 32 / math.sqrt(768), "by hand", "counts once"),
    ("variance", 256 / 768, "by hand", "variance of the scores"),
    ("no root", 16 / 768, "by hand", "by its root"),
    ("spreads added", 128 / math.sqrt(768), "by hand", "Variances add"),
    ("divided by head_dim", 16 / 64, "by hand", "without a root"),
    ("spreads of a product added", 24 / math.sqrt(768), "by hand", "1 · 2, not 1 + 2"),
    ("variances of a product added", math.sqrt(64 * 5 / 768), "by hand", "added the variances"),
    ("far off", 100, "by hand", "too large by a factor"),
    ("far too little", 0.001, "by hand", "too small by a factor"),
    ("negative", -0.58, "by hand", "above 0"),
    ("a text", "0.58", "type", "one number"),
    ("both roots", 2 / math.sqrt(768), "by hand", "both roots"),
]
