"""What three heads of a GPT-2 layer weigh."""

d_model, head_dim, gone = 768, 64, 3
# of W_q, W_k, W_v, each with its bias
columns = 3 * gone * head_dim * (d_model + 1)
rows = gone * head_dim * d_model  # of W_o
REFERENCE = columns + rows

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("no biases", 589_824, "by hand", "biases are missing"),
    ("no output rows", 442_944, "by hand", "W_o is missing"),
    ("neither", 442_368, "by hand", "W_o is missing, a head"),
    ("four biases", 590_592, "by hand", "doesn't belong"),
    ("the whole output bias", 591_168, "by hand", "doesn't belong to any head. It stays."),
    ("no columns of W_v", 442_752, "by hand", "One matrix is missing"),
    ("one matrix", 147_648, "by hand", "one matrix of four"),
    ("what is left", 1_771_968, "by hand", "what the layer keeps"),
    ("both sides", 1_032_768, "by hand", "one side of each matrix"),
    ("one head", 196_800, "by hand", "one head. 3 go"),
    ("nine heads", 1_771_200, "by hand", "heads that stay"),
    ("all layers", 7_084_800, "by hand", "all layers"),
    ("all heads", 2_359_296, "by hand", "all four matrices"),
    ("heads of 64 by 64", 49_152, "by hand", "d_model rows"),
    ("far off", 12, "by hand", "times too few"),
    ("a text", "590400", "type", "one number"),
]
