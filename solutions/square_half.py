"""From how many tokens on the square is half."""

d_model, d_ff = 4096, 11_008
weights = 2 * (4 * d_model**2 + 3 * d_model * d_ff)  # FLOPs a token
REFERENCE = weights // (4 * d_model)

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("no MLP", 8192, "by hand", "left out the MLP"),
    ("MLP not gated", 19_200, "by hand", "three matrices"),
    ("one matrix of the MLP", 13_696, "by hand", "one matrix"),
    ("one product", 49_408, "by hand", "one of the two products"),
    ("multiply-adds of one product", 98_816, "by hand", "4·d FLOPs"),
    ("visible pairs", 49_407, "by hand", "visible pairs"),
    ("width 8d/3", 24_576, "by hand", "rounded up"),
    ("width 4d", 32_768, "by hand", "width 4d"),
    ("no output projection", 22_656, "by hand", "left out the output projection"),
    ("divided by the layers", 772, "by hand", "cancels"),
    ("d_model for each head", 772, "by hand", "they share d_model"),
    ("causal half", 49_408, "by hand", "causal half"),
    ("MLP alone", 16_512, "by hand", "left out the projections"),
    ("multiply-adds against FLOPs", 12_352, "by hand", "on both sides"),
    ("fewer key/value heads", 21_632, "by hand", "as many key/value heads"),
    ("context as long as d_model", 4096, "by hand", "solve for n"),
    ("one head's square", 790_528, "by hand", "of a single head"),
    ("far off", 1_000_000, "by hand", "times too many"),
    ("negative", -1.0, "by hand", "above zero"),
    ("a text", "24704", "type", "one number"),
    ("infinite", float("inf"), "finite", "finite"),
    ("times the layers", 790_528, "by hand", "multiplied by the layers"),
]
