"""Fewest rows whose product with a weight matrix does 300 FLOPs for each byte."""

import math

d, ridge = 4096, 300
# 2 m d² / (2 (d² + 2 m d)) >= 300  gives  m (d - 600) >= 300 d
REFERENCE = math.ceil(ridge * d / (d - 2 * ridge))

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("weights only", 300, "by hand", "weight matrix only"),
    ("result forgotten", 324, "by hand", "left out one of two"),
    ("four bytes", 849, "by hand", "2 bytes, not 4"),
    ("one byte", 162, "by hand", "2 bytes, not 1"),
    ("rounded down", REFERENCE - 1, "by hand", "round up"),
    ("one too many", REFERENCE + 1, "by hand", "one too many"),
    ("a power of 2", 512, "by hand", "power of 2"),
    ("weights only, one FLOP", 600, "by hand", "Two things"),
    ("weights only, one byte", 150, "by hand", "Two things"),
    ("not whole", 351.49, "by hand", "whole"),
    ("the matrix", 4096, "by hand", "size of the matrix"),
    ("nothing", 0, "by hand", "At least one row"),
    ("far off", 100_000, "by hand", "too many"),
    ("a text", "352", "type", "one number"),
    ("infinite", float("inf"), "finite", "finite"),
]
