"""A code and its share of a zero and a scale, for both halves; then the mean of all numbers."""

REFERENCE = (192 * (2 + 32 / 64) + 128 * (4 + 32 / 32)) / (192 + 128)

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("codes alone", 2.8, "by hand", "codes alone"),
    ("scale alone", 3.15, "by hand", "two numbers of 16 bits"),
    ("float32", 4.2, "by hand", "in float32"),
    ("added", 7.5, "by hand", "Take the mean"),
    ("alike", 3.75, "by hand", "keys and values alike"),
    ("changed places", (128 * 2.5 + 192 * 5) / 320, "by hand", "You swapped keys and values"),
    ("groups changed places", (192 * 3 + 128 * 4.5) / 320, "by hand", "You swapped the groups"),
    ("small groups", (192 * 3 + 128 * 5) / 320, "by hand", "groups of 32 in the keys"),
    ("large groups", (192 * 2.5 + 128 * 4.5) / 320, "by hand", "groups of 64 in the values"),
    ("mean group", 2.8 + 32 / 48, "by hand", "averaged the group sizes"),
    ("each its own", 34.8, "by hand", "its own zero point"),
    ("keys", 2.5, "by hand", "Those are the keys"),
    ("values", 5.0, "by hand", "Those are the values"),
    ("a token", 1120.0, "by hand", "a whole token"),
    ("bytes", 3.5 / 8, "by hand", "Those are bytes"),
    ("bytes for bits in the scale", 2.8 + (192 * 4 / 64 + 128 * 4 / 32) / 320, "by hand",
     "2 bytes"),
    ("far off", 12.0, "by hand", "too many"),
    ("too few", 1.0, "by hand", "too few"),
    ("a text", "3.5 bits", "type", "one number"),
]  # fmt: skip
