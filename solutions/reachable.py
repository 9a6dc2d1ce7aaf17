"""A chain of tokens that did not know what would be asked."""

MODEL = """
In each layer a token attends to itself and the three before it. So in the last layer, position 12
reads positions 9 to 12. In the layer before, 9 has read 6 to 9, and in the first, 6 has read 3 to
6. One path is 3 → 6 → 9 → 12. Everything from 3 on can have an influence, and nothing before: three
layers times three positions.

Influence doesn't promise much. What was at 3 arrives at 12 only if position 6 has put it into its
own vector and position 9 has put that into its own. Both did so when they were read, without
knowing what would be asked at 12. Each has one vector, which also has to hold its own content, and
what it takes from others is an average. A hint of the topic survives such a chain. A name, word for
word, is one of very many things that might have been needed, and survives only if the model has
learned to carry just this along.

A layer without a window doesn't need a chain. The query at 12 compares itself with the key at 3,
which is in the cache unchanged. Nothing has to be known beforehand. That's why models mix a few
full layers among the others.
"""

SAMPLES = [
    (
        "earns all",
        """
Layer 3: 12 ← 9..12. Layer 2: 9 ← 6..9. Layer 1: 6 ← 3..6. So 3..12 can matter (W−1 = 3 per layer).
But the name at 3 has to travel 3→6→9→12, and tokens 6 and 9 must have copied it into their residual
stream already when they were processed. At that moment no one knew that it would be needed. There
are lots of tokens competing for the same few numbers, so mostly a blurred summary arrives. With one
full attention layer token 12 can make a query for the name and fetch it directly from position 3.
""",
        (2, 2, 1),
    ),
    (
        "earns a part",
        """
Each layer sees 4 tokens, so three layers see 12 tokens back, to position 0. The influence becomes
weaker with every layer since the softmax averages, so the name is blurred. A full layer could see
everything.
""",
        (0, 1, 0),
    ),
]
