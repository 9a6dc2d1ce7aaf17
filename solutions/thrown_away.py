"""Compare with what was there to be kept."""

MODEL = """
The 32,768 numbers are not 32,768 pieces of information. All keys and all values of a token are
linear functions of one vector x of 7,168 numbers. Whatever the matrices are, no more than that can
be in them. Most of the "98 %" is the same content, written out again for each head.

The second point is time. The latent does not compress a finished model. It is there from the first
step of training, and the matrices in front of it and behind it are learned together. What passes is
what the heads turn out to need. Trained heads need less than they could have: their keys and values
lie near a space of far fewer directions than their size would allow.

What is right: of 7,168 directions only 512 reach keys and values, for all heads of the layer
together. That is a real restriction. A model in which every head needs its own part of x pays for
it.

How much is lost is a question for a measurement. One looks at the singular values of keys and
values, stacked over all heads, of a model trained without a latent, and sees how fast they fall.
The better one is a comparison of trained models: latent attention against grouped attention with a
cache of as many bytes, and both against the full size, at the same parameters and data.
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
