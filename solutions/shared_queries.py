"""Sharing pays where something is kept."""

MODEL = """
Share what you keep. A query is made, meets the keys, and is gone. Keys and values stay in the cache
until the text ends. With 8 heads of keys and values, the cache falls to a quarter. With 8 query
heads and 32 heads of keys and values, it doesn't shrink by a single byte.

A decode step reads the weights and the cache. With a long context or a large batch, the cache is
the larger part. Grouped attention cuts that part to a quarter; the mirror image reads as much as
before. It also loses the reuse: in a group, each key that's read serves four queries.

Both save parameters. Of four matrices of the same size, grouped attention shrinks two, W_k and W_v,
to a quarter each; the mirror image only shrinks W_q. The scores cost the same in both, because 32
pairs of a query head and a key head are multiplied either way.

In favor: there are still 32 different patterns, because four different key heads answer one
question in four ways, and each has its own values. As a model it may be as good as the other. For a
layer without a cache, in an encoder, the main objection doesn't apply. For a decoder that serves
long contexts, it saves in the wrong place.
"""

SAMPLES = [
    (
        "earns all",
        """
Cache: GQA 1/4, mirrored: unchanged (K and V of 32 heads). Queries are never cached. So the step for
long texts, which is bound by reading the cache, is not faster either. Parameters: GQA saves 75 % of
W_k and of W_v, mirrored 75 % of W_q only. FLOPs for scores equal: 32 heads each. Pro: 32 distinct
attention patterns and 32 value heads remain, so perhaps a bit more expressive than GQA. Verdict:
no, it saves where nothing is expensive.
""",
        (2, 1, 1, 1),
    ),
    (
        "earns a part",
        """
Both save parameters, GQA 2 · 24 heads · 128 · d, the other one 24 heads · 128 · d, so GQA saves
double. But with shared queries the heads in a group would look at the same things, so there would
be 8 patterns and not 32. So I would use GQA.
""",
        (0, 0, 1, 0),
    ),
]
