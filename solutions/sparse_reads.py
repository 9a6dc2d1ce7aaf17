"""One compressed key more than the chosen blocks and the window have."""

others = 8 * 128 + 256
REFERENCE = 64 + 32 * others

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("as many", 40_992, "by hand", "just as many"),
    ("steps between spans", 40_960, "by hand", "1,279 compressed"),
    ("a step too far", 41_056, "by hand", "one step too many"),
    ("a token short", 41_023, "by hand", "one token short"),
    ("spans beside each other", 64 * 1281, "by hand", "overlap"),
    ("spans beside each other, as many", 64 * 1280, "by hand", "overlap"),
    ("one key a block", 64 + 32 * 264, "by hand", "one key per block"),
    ("no window", 64 + 32 * 1024, "by hand", "window of 256"),
    ("no blocks", 64 + 32 * 256, "by hand", "left out the selected blocks"),
    ("keys for tokens", 1281, "by hand", "number of compressed keys"),
    ("keys read", 2561, "by hand", "number of keys read"),
    ("far off", 7_000, "by hand", "217 compressed keys"),
    ("too long", 65_536, "by hand", "but not the shortest"),
    ("a text", "41024 tokens", "type", "one number"),
]
