"""Full spans, chosen blocks, and the window."""

compressed = (32_768 - 64) // 32 + 1
REFERENCE = compressed + 8 * 128 + 256

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("half a span", 1024 + 1024 + 256, "by hand", "half a span"),
    ("steps between spans", 1022 + 1024 + 256, "by hand", "begins at 0"),
    ("spans beside each other", 512 + 1024 + 256, "by hand", "overlap"),
    ("no compressed keys", 1024 + 256, "by hand", "compressed keys are missing"),
    ("one key a block", 1023 + 8 + 256, "by hand", "not one"),
    ("no window", 1023 + 1024, "by hand", "window of 256"),
    ("no blocks", 1023 + 256, "by hand", "chosen blocks are missing"),
    ("compressed alone", 1023, "by hand", "compressed keys alone"),
    ("all", 32_768, "by hand", "every key"),
    ("twice", 4606, "by hand", "count keys"),
    ("far off", 7_000, "by hand", "three parts"),
    ("a text", "2303 keys", "type", "one number"),
]
