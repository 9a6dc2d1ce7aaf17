"""A score under YaRN."""

import math

each = 0.1 * math.log(16) + 1
REFERENCE = 2 * each**2

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("once", 2 * each, "by hand", "gets it twice"),
    ("the factor of scores", each**2, "by hand", "The score was 2"),
    ("the factor", each, "by hand", "What happens to a score"),
    ("doubled", 4 * each, "by hand", "square it"),
    ("base ten", 2 * (0.1 * math.log10(16) + 1) ** 2, "by hand", "natural"),
    ("base two", 2 * (0.1 * 4 + 1) ** 2, "by hand", "natural"),
    ("unchanged", 2.0, "by hand", "more than the frequencies"),
    ("divided", 2 / each**2, "by hand", "You divided"),
    ("divided once", 2 / each, "by hand", "not divided by it"),
    ("the root", 2 * math.sqrt(each), "by hand", "gets its square"),
    ("one left out", 2 * (each - 1) ** 2, "by hand", "the 1 is missing"),
    ("0.1 outside", 2 * (0.1 * (math.log(16) + 1)) ** 2, "by hand", "only the logarithm"),
    ("score squared", 4 * each**2, "by hand", "once"),
    ("far off", 50.0, "by hand", "times the old score"),
    ("negative", -3.26, "by hand", "positive factor"),
    ("a text", "3.26", "type", "one number"),
    ("the stretch", 32, "by hand", "how far the context is extended"),
    ("0.1 left out", 2 * (math.log(16) + 1) ** 2, "by hand", "The 0.1 is missing"),
]
