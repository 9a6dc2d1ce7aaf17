"""What is too large decides what is split."""

MODEL = """
The 70B model doesn't fit on one device, so its weights must be split: tensor parallel over all
eight. There are eight key/value heads, so each device keeps one and the cache is divided by eight.
It sends two all-reduces per layer, which is little for a decode step, and the fast links of one
machine carry them. A ring wouldn't help: it leaves all the weights on every device.

The latent model's cache doesn't get smaller by splitting heads, because every device would keep the
whole latent. I'd split the positions. Each device attends to its share, and outputs and
log-sum-exps are merged. That costs heads times latent width per token, whatever the length. If
there were many short conversations, I'd give each device its own requests instead.

A million tokens are too much work for one device. I'd split the tokens in zigzag order, because in
contiguous order almost half of the time would be spent waiting. The link between the machines
carries keys and values in each round, but products grow with the square, so I'd count the length
from which they hide the message. Or Ulysses inside a machine and a ring between the two.

Before building I'd count values per token and layer for each split, multiplied by the tokens and
divided by the rate of the slow link, and the cache per device.
"""

SAMPLES = [
    (
        "earns all",
        """
1: TP=8. weights /8, 1 kv head per gpu, 2 all-reduces/layer over nvlink. Sequence splits keep all
weights on each gpu so no use. 2: TP replicates the latent (576 per token on each), so split the
cache by position and merge with lse, or data parallel attention if many users. 3: zigzag ring,
balanced, messages overlap with compute since n^2 vs n; check that n is above the break-even
for the slow link. Count: bytes per token per layer / link speed, cache GB per gpu.
""",
        (1, 2, 1, 1),
    ),
    (
        "earns a part",
        """
Tensor parallel for all three, since it splits weights and cache evenly over the eight devices.
For the long prompts a ring is better because tokens are split, in zigzag order so that nobody
waits for the last device, and the slow link should only carry keys.
""",
        (0, 0, 1, 0),
    ),
]
