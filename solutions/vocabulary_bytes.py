"""Rows, numbers per row, two tables, two bytes."""

REFERENCE = 151_936 * 4096 * 2 * 2

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("one table", REFERENCE // 2, "by hand", "two tables"),
    ("values of one", REFERENCE // 4, "by hand", "values of one table"),
    ("float32", 2 * REFERENCE, "by hand", "twice as much"),
    ("bits", 8 * REFERENCE, "by hand", "bits"),
    ("in each layer", 36 * REFERENCE, "by hand", "in each of the 36"),
    ("one number per token", 151_936 * 4, "by hand", "a whole vector"),
    ("one token", 4096 * 4, "by hand", "one token's two rows"),
    ("gigabytes", 2.49, "by hand", "in bytes"),
    ("far off", 7.0e12, "by hand", "times too large"),
    ("a text", "2.5 GB", "type", "one number"),
]
