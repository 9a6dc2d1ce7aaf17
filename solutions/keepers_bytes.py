"""The layers that keep, by kind, times the bytes of a slot."""

full = 24 // 6  # among the layers that keep
rings = 24 - full
windowed_slot = 2 * 2 * 256 * 2
full_slot = 2 * 2 * 512 * 2
REFERENCE = full * 32_768 * full_slot + rings * 512 * windowed_slot

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("all layers", 7 * 32_768 * 4096 + 35 * 512 * 2048, "by hand", "The last 18 keep nothing"),
    ("small heads", 4 * 32_768 * 2048 + 20 * 512 * 2048, "by hand", "twice as"),
    ("all full", 24 * 32_768 * 4096, "by hand", "Only some of those"),
    ("all windowed", 24 * 512 * 2048, "by hand", "Some see all"),
    ("no rings", 4 * 32_768 * 4096, "by hand", "left out the windowed"),
    ("exchanged", 20 * 32_768 * 4096 + 4 * 512 * 2048, "by hand", "exchanged"),
    ("the readers", 3 * 32_768 * 4096 + 15 * 512 * 2048, "by hand", "Count the ones that keep"),
    ("keys only", 278_921_216, "by hand", "Half is missing"),
    ("float32", 1_115_684_864, "by hand", "takes 2 bytes"),
    ("bits", 4_462_739_456, "by hand", "bits"),
    ("numbers of keys", 139_460_608, "by hand", "alone"),
    ("gigabytes", 0.56, "by hand", "in bytes"),
    ("far off", 7.0e12, "by hand", "times too large"),
    ("a text", "3 GB", "type", "one number"),
]
