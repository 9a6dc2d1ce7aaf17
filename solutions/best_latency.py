"""Milliseconds for a token when only the weights are read."""

# One short sequence computes little and has a tiny cache: a token waits
# for the weights. All of them are read once, 2 bytes each, by 8 devices
# that share the reading.
parameters = 70_553_706_496
REFERENCE = 1e3 * parameters * 2 / (8 * 3.35e12)


WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("one device", 42.12, "by hand", "one device alone"),
    ("one byte", 2.633, "by hand", "one byte per weight"),
    ("four bytes", 10.53, "by hand", "4 bytes per weight"),
    ("seconds", 0.005265, "by hand", "seconds"),
    ("tokens a second", 190, "by hand", "time of one"),
    ("arithmetic", 0.01783, "by hand", "arithmetic"),
    ("devices multiplied", 337, "by hand", "its own eighth"),
    ("microseconds", 5264.9, "by hand", "microseconds"),
    ("an eighth of an eighth", 0.658, "by hand", "took the eighth twice"),
    ("one byte, one device", 21.06, "by hand", "Two things"),
    ("four bytes, one device", 84.2, "by hand", "Two things"),
    ("TiB", 4.788, "by hand", "1e12 bytes"),
    ("negative", -5.3, "by hand", "above 0"),
    ("far off", 100, "by hand", "times the least time"),
    ("a text", "5.3", "type", "one number"),
    ("one device, in seconds", 0.04212, "by hand", "Two things"),
]
