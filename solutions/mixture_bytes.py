"""States that don't grow, and caches that do."""

states = 36 * 32 * 128 * 128 * 4
caches = 12 * 4_096 * 2 * 2 * 256 * 2
REFERENCE = states + caches

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("no states", caches, "by hand", "caches alone"),
    ("no caches", states, "by hand", "states alone"),
    ("bfloat16", states // 2 + caches, "by hand", "2 bytes"),
    ("float32", states + 2 * caches, "by hand", "4 bytes"),
    ("all attend", 4 * caches, "by hand", "every layer"),
    ("keys alone", states + caches // 2, "by hand", "key *and* a value"),
    ("states twice", 2 * states + caches, "by hand", "twice"),
    ("one head", states // 32 + caches, "by hand", "one matrix per layer"),
    ("vectors", states // 128 + caches, "by hand", "vector per head"),
    ("swapped", states // 3 + 3 * caches, "by hand", "swapped"),
    ("grows", states * 4_096 + caches, "by hand", "multiplied the states"),
    ("numbers", states // 4 + caches // 2, "by hand", "numbers, not bytes"),
    ("megabytes", 176.2, "by hand", "in bytes"),
    ("far off", 7.0e12, "by hand", "times too large"),
    ("a text", "176 MB", "type", "one number"),
]
