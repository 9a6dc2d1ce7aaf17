"""The longest context of 64 sequences."""

left = 80 * 10**9 - 2 * 8_239_992_832
one_token = 64 * 32 * (512 + 64) * 2
REFERENCE = left // one_token

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("weights forgotten", 33908, "by hand", "left out the weights"),
    ("weights not in bytes", 30415, "by hand", "2 bytes"),
    ("one sequence", 1723090, "by hand", "one sequence"),
    ("keys and values", 13461, "by hand", "no factor 2"),
    ("latent alone", 30288, "by hand", "is kept as well"),
    ("one layer", 861545, "by hand", "one layer"),
    ("a rope key for each head", 6057, "by hand", "one for all heads"),
    ("grouped heads", 7572, "by hand", "one latent and one RoPE key"),
    ("GiB", 29423, "by hand", "80 GiB"),
    ("one byte a number", 53846, "by hand", "2 bytes"),
    ("rounded up", 26924, "by hand", "does not fit"),
    ("not whole", 26923.3, "by hand", "round down"),
    ("far off", 100, "by hand", "times too few"),
    ("a text", "26923", "type", "one number"),
]
