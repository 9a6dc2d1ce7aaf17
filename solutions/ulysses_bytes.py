"""A device's tokens, the values of each, and the part that is sent."""

tokens = 32_768 // 8
values = (2 * 64 + 2 * 8) * 128  # queries and outputs, keys and values
REFERENCE = tokens * values * 7 // 8 * 2

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("no outputs", REFERENCE * 80 // 144, "by hand", "left out the outputs"),
    ("keys and values", REFERENCE // 9, "by hand", "keys and values alone"),
    ("all alike", REFERENCE * 256 // 144, "by hand", "same size"),
    ("a ring", REFERENCE * 128 // 144, "by hand", "That's a ring"),
    ("all tokens", REFERENCE * 8, "by hand", "begins with 1/8"),
    ("its own part too", tokens * values * 2, "by hand", "keeps one"),
    ("to one device", tokens * values // 8 * 2, "by hand", "one other device"),
    ("values", REFERENCE // 2, "by hand", "Half is missing"),
    ("float32", REFERENCE * 2, "by hand", "twice as much"),
    ("megabytes", 132.1, "by hand", "in bytes"),
    ("far off", 7.0e12, "by hand", "times too large"),
    ("a text", "132 MB", "type", "one number"),
]
