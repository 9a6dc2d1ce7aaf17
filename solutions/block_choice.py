"""Bytes bound the time only while they are the largest bound."""

MODEL = """
A kernel takes at least the time of its bytes and at least the time of its FLOPs. With 64 queries
per block, the long prefill waited for keys and values, so halving the reads made it faster. Each
byte that comes in serves all queries of a block, and somewhere between 128 and 256 the products
became the larger of the two bounds. From there on, fewer bytes save nothing, because the FLOPs are
the same for all blocks, or slightly more.

With 512 tokens, two things get worse. There are only two blocks of 256 queries per head instead of
eight, so there are fewer thread blocks than multiprocessors, or too few to distribute the work
evenly. And under the causal mask, tiles of 256 are coarse: three quarters of the square is computed
if the blocks of keys grow too, compared with 56% with tiles of 64.

A decode step has one query per sequence, or one group of heads. The block isn't full, whatever its
size, and all keys are read once in any case. Splitting the keys helps there, because it gives more
thread blocks.

To test the third explanation, I'd count the thread blocks and the computed tiles for 512 tokens,
and then measure with more heads or more sequences at once. If too few thread blocks are the reason,
256 catches up when there are enough of them. If it's the coarse diagonal, 256 stays slower, and
without the mask the difference disappears.
"""

SAMPLES = [
    (
        "earns all",
        """
64 -> 128: memory-bound, half the K/V reads -> faster. At 256 the intensity is above the ridge, so
it is compute-bound, and FLOPs don't depend on the block. 512 tokens: with 256 rows only 2 blocks
per head (8 with 64), so most SMs idle, plus more masked work on the diagonal (75 % of the square
instead of 56 %). Decode: one query, K/V are read once anyway, larger block changes nothing; split
the keys instead. Check: run 512 tokens with batch x 16. If it's occupancy, then 256 is as fast as
64 there. Also without causal mask.
""",
        (2, 2, 1, 1),
    ),
    (
        "earns a part",
        """
Larger blocks read less but at some point the GPU is limited by compute, so it isn't faster any
more. For short texts the overhead dominates. Decoding is always memory bound. I would use a
profiler.
""",
        (2, 0, 0, 0),
    ),
]
