"""Whether you know in advance what will be asked."""

MODEL = """
(a) The chat needs its recent tokens and its first ones: a recency window with the first tokens. If
the model dumps attention on those, evicting them would ruin it. It won't know what was said an hour
ago. I'd plant a fact and ask for it after 500, 2,000 and 5,000 tokens. Beyond the window it has to
fail, and the product should say so.

(c) The instruction is at the end of the prompt, so its queries have already looked at the report:
SnapKV, with the neighbors of the keys that the last queries attend to. What goes wrong: the summary
is long, and its end may need other keys than its first words did. I'd compare with the full cache,
fact by fact, for facts from the beginning, the middle and the end.

(b) is the one for which no method that forgets is right. The questions come after the eviction. A
key that no query has attended to yet has received no weight, but it may be the one clause that's
asked for. Received weight says what was needed, not what will be. Here I'd keep all keys and let
each query select which to read, so a step reads 2,048 but nothing is lost. That takes memory for
the whole contract. If there isn't enough, I'd use fewer bits per key or keep keys outside the
device, not fewer keys. The test asks for single clauses at known places, with questions that aren't
in the prompt.
"""

SAMPLES = [
    (
        "earns all",
        """
a: sinks + recent window. Loses everything older than the window. Test: needle at 1k, 3k, 10k.
b: no eviction is ok since the questions are unknown when the keys are dropped, the clause has got
no attention until it's asked. Keep the entire cache (maybe 4 bit, or on the CPU) and pick top-k per
query, like DSA. Test: ask for random clauses by position.
c: SnapKV: instruction is at the end so the last queries know what matters. Can lose details needed
late in the summary; test by counting facts from each third of the report against full cache.
""",
        (2, 2, 1),
    ),
    (
        "earns a part",
        """
a sliding window with 4 sinks, because streaming LLM does it. b H2O, because heavy hitters are the
important words of the contract. c SnapKV as the prompt is at the end. I would look at the
perplexity of each.
""",
        (1, 0, 0),
    ),
]
