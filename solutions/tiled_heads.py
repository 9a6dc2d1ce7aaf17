"""Heads that are right although the order is wrong."""

# Head h should read h // 4, since neighbors share. Tiling gives it h %
# 8. Where the two agree the wrong order does no harm.
REFERENCE = sum(head // 4 == head % 8 for head in range(32))

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("all", 32, "by hand", "every head"),
    ("none", 0, "by hand", "At least one"),
    ("wrong ones counted", 28, "by hand", "how many read a wrong one"),
    ("first and last", 2, "by hand", "between them"),
    ("first only", 1, "by hand", "only one"),
    ("one for each", 8, "by hand", "never met"),
    ("one too many", 5, "by hand", "One too many"),
    ("one too few", 3, "by hand", "one too few"),
    ("six groups", 6, "by hand", "at most one gets it"),
    ("all groups but one", 7, "by hand", "at most one gets it"),
    ("another number", 16, "by hand", "count where the two agree"),
    ("a fraction", 0.125, "by hand", "an integer"),
    ("a text", "4", "type", "one number"),
]
