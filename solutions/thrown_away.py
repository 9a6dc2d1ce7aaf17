"""Compare with what was there to be kept."""

MODEL = """
The 32,768 values aren't 32,768 pieces of information. All keys and values of a token are linear
functions of one vector x of 7,168 values. Whatever the matrices are, there can't be more in them
than that. Most of the "98%" is the same content, written out again for each head.

The second point is timing. The latent doesn't compress a finished model. It's there from the first
step of training, and the matrices before and after it are learned together. So the heads send
through it what they turn out to need. Trained heads need less than they could have: their keys and
values are close to a space of far fewer dimensions than their size would allow.

The argument is right about one thing: of 7,168 directions, only 512 reach the keys and values, for
all heads of the layer together. That's a real restriction, and a model in which every head needs
its own part of x pays for it.

Only a measurement can say how much is lost. You can stack keys and values over all heads, in a
model trained without a latent, and see how fast their singular values fall. It's better to compare
trained models: latent attention against grouped attention with a cache of as many bytes, and both
against the full size, at the same parameters and data.
"""

SAMPLES = [
    (
        "earns all",
        """
The 32,768 numbers all come from x with 7,168 entries by linear maps, so their rank is at most
7,168. The right ratio is 512/7168 = 7 %, not 1.6 %. And it isn't thrown away afterwards: W_DKV is
trained with the rest, so the model decides what goes into those 512. Still, rank 512 is a limit; if
the heads really used all directions of x it would hurt. I would train MLA and GQA with the same
cache size and the same data and compare the losses; or look at the SVD of the stacked W_k, W_v of
an MHA model (where does the spectrum fall off?).
""",
        (2, 1, 2),
    ),
    (
        "earns a part",
        """
The paper shows that MLA is even better than MHA, so nothing important is lost. The network learns
to compress the keys and values into the latent during training, similar to an autoencoder, and the
decompression matrices W_UK and W_UV get the information back.
""",
        (0, 1, 0),
    ),
]
