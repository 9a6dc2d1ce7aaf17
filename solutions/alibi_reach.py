"""e^(-r/256) < 1/10 from r = 256 ln 10 on."""

import math

REFERENCE = math.ceil(256 * math.log(10))


WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("one too few", 589, "by hand", "still a little more"),
    ("first head", 5, "by hand", "first head"),
    ("one half", 178, "by hand", "one half"),
    ("1/e", 257, "by hand", "not below a tenth"),
    ("one unit", 256, "by hand", "1 is subtracted"),
    ("ten units", 2560, "by hand", "e to the −10"),
    ("linearly", 230, "by hand", "weight itself"),
    ("last but one", 295, "by hand", "last head but one"),
    ("base 10", 255, "by hand", "natural"),
    ("base 2", 851, "by hand", "base 2"),
    ("linearly, the next token", 231, "by hand", "weight itself"),
    ("a tenth of the score", 26, "by hand", "0.1 is subtracted"),
    ("a tenth lost", 27, "by hand", "only a tenth is left"),
    ("one too many", 591, "by hand", "one token too far"),
    ("not whole", 589.46, "by hand", "whole number"),
    ("nothing", 0, "by hand", "reference itself"),
    ("a guess", 1000, "by hand", "Where is this a tenth"),
    ("a text", "590", "type", "one number"),
    ("a hundredth", 1179, "by hand", "hundredth"),
    ("the logarithm alone", 2.303, "by hand", "ln 10"),
]
