"""From how many tokens on the square is half."""

d_model, d_ff = 4096, 11_008
weights = 2 * (4 * d_model**2 + 3 * d_model * d_ff)  # FLOPs a token
REFERENCE = weights // (4 * d_model)

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("no MLP", 8192, "by hand", "MLP is missing"),
    ("MLP not gated", 19_200, "by hand", "three matrices"),
    ("one matrix of the MLP", 13_696, "by hand", "one matrix"),
    ("one product", 49_408, "by hand", "two products"),
    ("multiply-adds of one product", 98_816, "by hand", "4·d FLOPs"),
    ("visible pairs", 49_407, "by hand", "visible pairs"),
    ("width 8d/3", 24_576, "by hand", "rounded up"),
    ("width 4d", 32_768, "by hand", "width 4d"),
    ("no output projection", 22_656, "by hand", "output projection"),
    ("divided by the layers", 772, "by hand", "cancels"),
    ("far off", 1_000_000, "by hand", "times too many"),
    ("negative", -1.0, "by hand", "above zero"),
    ("a text", "24704", "type", "one number"),
    ("infinite", float("inf"), "finite", "finite"),
]
