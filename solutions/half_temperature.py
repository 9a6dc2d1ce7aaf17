"""The second share at temperature 1/2."""

powers = [1, 2, 5]  # e to the scores 0, ln 2, ln 5
# dividing the scores by 1/2 squares the powers
squared = [power**2 for power in powers]
REFERENCE = squared[1] / sum(squared)

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("temperature left out", 0.25, "by hand", "temperature 1"),
    ("temperature multiplied", 0.3041, "by hand", "halved"),
    ("third token", 0.8333, "by hand", "third"),
    ("first token", 0.0333, "by hand", "first"),
    ("a power", 4.0, "by hand", "Divide it by the sum"),
    ("sum not squared", 0.5, "by hand", "squared"),
    ("square of the share", 0.0625, "by hand", "squares by their sum"),
    ("beside the third token", 0.16, "by hand", "sum of all three"),
    ("half of the share", 0.125, "by hand", "divides the scores"),
    ("scores shared", 0.301, "by hand", "exponentials first"),
    ("percent", 13.33, "by hand", "percent"),
    ("no share", -2.0, "by hand", "between 0 and 1"),
    ("too large", 0.7, "by hand", "too large"),
    ("a text", "2/15", "type", "one number"),
]
