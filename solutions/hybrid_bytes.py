"""Slots of both kinds of layers, times the bytes of a slot."""

full = 62 // 6
slots = full * 32_768 + (62 - full) * 1024
REFERENCE = slots * 2 * 16 * 128 * 2

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("all full", 62 * 32_768 * 8192, "by hand", "all keep everything"),
    ("all windowed", 62 * 1024 * 8192, "by hand", "all windowed"),
    ("exchanged", (52 * 32_768 + 10 * 1024) * 8192, "by hand", "exchanged"),
    ("eleven full layers", (11 * 32_768 + 51 * 1024) * 8192, "by hand", "not whole"),
    ("a third of a layer", 62 * (32_768 + 5 * 1024) / 6 * 8192, "by hand", "and layers are"),
    ("keys only", 1_560_281_088, "by hand", "Half is missing"),
    ("float32", 6_241_124_352, "by hand", "2 bytes, not 4"),
    ("bits", 24_964_497_408, "by hand", "bits"),
    ("windowed layers left out", 10 * 32_768 * 8192, "by hand", "keep something too"),
    ("one head", 195_035_136, "by hand", "one key/value head"),
    ("gigabytes", 3.12, "by hand", "in bytes"),
    ("far off", 7.0e12, "by hand", "times too large"),
    ("a text", "3 GB", "type", "one number"),
]
