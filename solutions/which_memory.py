"""What has to be found again decides, then the length."""

MODEL = """
The lawyer needs single clauses word by word, anywhere in 300,000 tokens. A state mixes many more
pairs than it has room for, so some layers must attend. I'd take a mixture, one attention layer in
four, which leaves a quarter of the cache, and compare with attention everywhere. States alone would
fail: they'd tell what the contract is about and miss the clause.

The chats are so short that a state takes more memory than the keys and values of 500 tokens, and
attention takes fewer FLOPs too. So attention with few key/value heads, or latents. A mixture would
take more memory per user, for thousands of users, and gain nothing.

The microphone never stops, so nothing may grow. Layers with a state whose decay comes from the
token, or windows. What's unusual is judged against the recent past, and it's fine that old words
fade. With a cache, it would stop when the memory is full.

Before training I'd count bytes per user at the real length. I'd also train small models on a recall
task: store more and more pairs, ask for one of them, and see at how many each choice breaks.
Perplexity wouldn't show it, because few tokens depend on single facts.
"""

SAMPLES = [
    (
        "earns all",
        """
1: hybrid 3:1, the attention layers find the clause, 1/4 of the kv cache at 300k. Pure linear fails
on needle tests (state is a fixed matrix, pairs interfere). Test: multi key needle / associative
recall with growing number of pairs on small models. 2: plain GQA, since the state per layer is as
big as the cache of ~1k tokens so 500 tokens of cache is smaller. 3: state or sliding window,
constant memory forever, old stuff decays which is ok here.
""",
        (2, 1, 1, 1),
    ),
    (
        "earns a part",
        """
Linear layers for all three because cost doesn't grow with length. For the microphone it's the only
possibility, because a cache would overflow, and forgetting old words is fine there.
""",
        (0, 0, 1, 0),
    ),
]
