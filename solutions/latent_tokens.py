"""How many tokens a latent cache holds."""

one_token = 27 * (512 + 64) * 2
REFERENCE = 40 * 10**9 // one_token

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("no rotated key", 1446759, "by hand", "rotated key of 64"),
    ("twice a token", 643004, "by hand", "One latent serves"),
    ("one byte a number", 2572016, "by hand", "2 bytes"),
    ("bits", 160751, "by hand", "bits"),
    ("one layer", 34722222, "by hand", "one layer"),
    ("keys and values of all heads", 144675, "by hand", "made from"),
    ("a rotated key for each head", 482253, "by hand", "one for all heads"),
    ("a latent for each head", 80375, "by hand", "share one latent"),
    ("GiB", 1380840, "by hand", "40 GiB"),
    ("rounded up", 1286009, "by hand", "round down"),
    ("not whole", 1286008.23, "by hand", "whole"),
    ("rounded to thousands", 1286000, "by hand", "exact"),
    ("nothing", -3, "by hand", "Some tokens fit"),
    ("far off", 5, "by hand", "too few"),
    ("a text", "1286008", "type", "one number"),
    ("infinite", float("inf"), "finite", "finite"),
]
