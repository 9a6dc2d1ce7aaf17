"""The position that an induction head looks at."""

# `<s>` has position 0, so the fifth word of the first copy
# has position 5
earlier_copy = 5
REFERENCE = earlier_copy + 1

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("the earlier copy itself", 5, "by hand", "followed it"),
    ("before the earlier copy", 4, "by hand", "after it"),
    ("one too far", 7, "by hand", "one too far"),
    ("the word that looks", 18, "by hand", "the word that looks"),
    ("the word before", 17, "by hand", "previous-token"),
    ("the word to predict", 19, "by hand", "hasn't read that word"),
    ("positions back", 12, "by hand", "positions back"),
    ("distance of the copies", 13, "by hand", "apart"),
    ("half a position", 6.5, "by hand", "whole numbers"),
    ("outside the row", -3, "by hand", "whole numbers"),
    ("far off", 9, "by hand", "Write the row down"),
    ("a text", "6", "type", "one number"),
]
