"""A code and its share of a zero and a scale, for both halves; then the mean."""

REFERENCE = ((2 + 32 / 64) + (4 + 32 / 32)) / 2

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("codes alone", 3.0, "by hand", "codes alone"),
    ("scale alone", 3.375, "by hand", "two numbers of 16 bits"),
    ("float32", 4.5, "by hand", "in float32"),
    ("added", 7.5, "by hand", "take the mean"),
    ("each its own", 35.0, "by hand", "of its own"),
    ("bytes", 3.75 / 8, "by hand", "Those are bytes"),
    ("bytes for bits in the scale", 3 + 2 / 64 + 2 / 32, "by hand", "2 bytes"),
    ("far off", 12.0, "by hand", "too many"),
    ("too few", 1.0, "by hand", "too few"),
    ("a text", "3.75 bits", "type", "one number"),
]
