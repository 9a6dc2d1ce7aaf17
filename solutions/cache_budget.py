"""How many sequences fit."""

parameters = 6_738_415_616
weights = parameters * 2
one_sequence = 2 * 32 * 32 * 128 * 4096 * 2
REFERENCE = (80 * 10**9 - weights) // one_sequence

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("weights forgotten", 37, "by hand", "weights have to fit"),
    ("keys or values only", 61, "by hand", "keys and values"),
    ("four bytes for the cache", 15, "by hand", "4 bytes per value"),
    ("float32", 12, "by hand", "float32"),
    ("bits", 3, "by hand", "bits"),
    ("one layer", 991, "by hand", "one layer"),
    ("eight key/value heads", 123, "by hand", "8 key/value heads"),
    ("GiB", 33, "by hand", "80 GiB"),
    ("one byte for the weights", 34, "by hand", "1 byte per weight"),
    ("four bytes for the weights", 24, "by hand", "4 bytes per weight"),
    ("tokens", 126_882, "by hand", "how many tokens fit"),
    ("weights and values forgotten", 74, "by hand", "Two things"),
    ("rounded up", 31, "by hand", "Round down"),
    ("not whole", 30.98, "by hand", "whole"),
    ("far off", 3000, "by hand", "times too many"),
    ("a text", "30", "type", "one number"),
    ("infinite", float("inf"), "finite", "finite"),
]
