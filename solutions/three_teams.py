"""One rule may do, if its price is named."""

MODEL = """
Position interpolation slows all planes by the same factor. Angles then stay in the trained range,
but near distances shrink too, and the model cannot tell neighbours as well as before until it is
trained on. NTK-aware scaling slows the slow planes and hardly touches the fast ones. YaRN decides
by the number of rotations: fast planes stay, slow ones are interpolated, with a ramp between, and
it sharpens the scores a little.

Team A cannot train and needs a factor of two: NTK-aware or YaRN, because what is near stays as it
was. Team B can train on: YaRN with the factor 8, then its week on long documents; interpolation
would do as well after training. Team C would like short conversations to be left alone, which
dynamic NTK promises. But its base grows with the text. Keys that lie in the cache were rotated with
the old base, and the new query with the new one, so that their difference is no longer the
distance. Either the cache holds keys before the rotation, and all are rotated again at every step,
or the rule stays fixed.

One rule for all: YaRN with the fixed factor 8, after the training of team B. Team C can keep its
cache. The price is paid by short texts: the factor on the scores and the slower planes are there
from the first token, so teams A and C should compare their short prompts before and after.
"""

SAMPLES = [
    (
        "earns all",
        """
PI squeezes everything equally (near distances suffer), NTK changes the base so that high
frequencies stay and low ones are stretched, YaRN does it per plane by wavelength. A: YaRN or NTK
factor 2 without training. B: YaRN factor 8 plus fine-tuning. C: not dynamic NTK, because the keys
in the cache have been rotated with another base than the query later on; a fixed YaRN factor 4. One
rule: YaRN factor 8 with B's weights for everybody. A and C pay, since all short texts run with a
scaling they don't need, which may cost a little quality.
""",
        (2, 2, 1),
    ),
    (
        "earns a part",
        """
A: position interpolation with factor 2, B: YaRN because it is the best, C: dynamic NTK since the
conversation starts short and then the model is unchanged. One rule is not possible, because the
teams have different lengths, and if you choose the biggest factor then team C gets worse answers
for short chats.
""",
        (0, 0, 1),
    ),
]
