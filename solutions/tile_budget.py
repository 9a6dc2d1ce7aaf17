"""Queries that fit, then blocks of them, then bytes."""

# beside the keys and values of a tile
room = 220_000 - 2 * 64 * 128 * 2
row = 128 * 2 + 128 * 4 + 64 * 4  # a query, its output and its scores
block_q = room // row // 16 * 16
REFERENCE = -(-8192 // block_q) * 2 * 8192 * 128 * 2

ONCE = 2 * 8192 * 128 * 2

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("once", ONCE, "by hand", "read keys and values once"),
    ("no output", -(-8192 // 352) * ONCE, "by hand", "left out the running output"),
    ("no scores", -(-8192 // 240) * ONCE, "by hand", "the tile's scores"),
    ("no values in the tile", -(-8192 // 192) * ONCE, "by hand", "the tile's values"),
    ("no keys in the tile", -(-8192 // 208) * ONCE, "by hand", "take memory as well"),
    ("not a multiple", -(-8192 // 182) * ONCE, "by hand", "If you took 182 queries"),
    ("rounded down", 8192 // 176 * ONCE, "by hand", "If you rounded 8,192 / 176 down"),
    ("two bytes", -(-8192 // 288) * ONCE, "by hand", "In float32 it's 4"),
    ("kilobytes", 197132.288, "by hand", "The answer is in bytes"),
    ("not rounded up", 8192 / 176 * ONCE, "by hand", "isn't full"),
    ("a power of two", 64 * ONCE, "by hand", "but more do"),
    ("keys of a tile", 128 * ONCE, "by hand", "how many keys a tile has"),
    ("keys alone", 47 * ONCE // 2, "by hand", "That's half"),
    ("bits", 47 * ONCE * 8, "by hand", "bits"),
    ("each query alone", 8192 * ONCE, "by hand", "every single query"),
    ("the block", 176, "by hand", "queries of a block"),
    ("far off", 7.0e12, "by hand", "times too large"),
    ("a text", "197 MB", "type", "one number"),
]
