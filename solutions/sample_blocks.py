"""Full blocks of the prompt once, everything behind them for each sample."""

full = 90 // 16
each = -(-(90 + 40) // 16)
REFERENCE = full + 6 * (each - full)

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("nothing shared", 54, "by hand", "share nothing"),
    ("answers in new blocks", 23, "by hand", "begin in a new block"),
    ("last block shared, new blocks", 24, "by hand", "each sample writes into a copy"),
    ("old block counted", 30, "by hand", "besides its copies"),
    ("one copy missing", 28, "by hand", "is missing"),
    ("one sample", 9, "by hand", "others have their own tokens"),
    ("own blocks of one", 4, "by hand", "one sample has for itself"),
    ("without the prompt", 24.5, "by hand", "a little too few"),
    ("tokens poured together", 21, "by hand", "do not share a"),
    ("slots", 464, "by hand", "Those are slots"),
    ("far off", 3000, "by hand", "times too many"),
    ("none", 0, "by hand", "at least one"),
    ("a text", "29 blocks", "type", "one number"),
]
