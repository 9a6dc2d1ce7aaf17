"""A stream is a sum."""

MODEL = """
A layer doesn't replace its input. It reads the stream, computes something, and adds it. So the
input of layer 2 is the embedding, plus what the attention and the MLP of layer 0 wrote, plus what
those of layer 1 wrote. A head of layer 2 can read the part that layer 0 wrote even if layer 1 did
nothing with it, and the unembedding reads the whole sum. An addend stays in it unless a later layer
writes its negative.

"More abstract" may well describe what late layers add. But they don't pass everything on.

Experiment: ablate what layer 1 writes, by adding zeros in its place, and measure the loss. If each
layer only works with what the one before has made, layer 2 gets nothing that it understands, and
the model should fall to guessing. If the stream is a sum, layer 2 still reads the embedding and
layer 0, and the model should get worse by what layer 1 contributed: often a little, and much only
for the task that rests on it. A second test costs nothing. Because the stream is a sum, the logit
of a word splits into one part for each addend, and under the first view the parts of the embedding
and of layer 0 should be 0.
"""

SAMPLES = [
    (
        "earns all",
        """
The layers write onto a common channel. x2 = embedding + layer0(...) + layer1(...), nothing is
overwritten. So a head in layer 2 can look directly at what the embedding or layer 0 put there, and
so does the unembedding, except if a layer subtracted it again. Test: split the logit of the right
next word into the contributions of the embedding and of layers 0, 1 and 2 (dot product of each
part with the word's vector, with the same norm). If she is right only the last layer's part is
different from zero or matters. If I am right the early parts contribute as well, for example the
embedding for frequent pairs of words.
""",
        (2, 1, 2),
    ),
    (
        "earns a part",
        """
There are skip connections in a transformer, x + f(x), so the input of a layer is still there after
it. I would remove layer 0 and see if the model gets worse. If it gets worse then layer 0 is still
needed and is not used up.
""",
        (2, 0, 0),
    ),
]
