"""Whether it is known beforehand what will be asked."""

MODEL = """
(a) The chat needs what is near and its beginning: a window with the first tokens. If the model
puts idle weight on them, leaving them out would ruin it. It will not know what was said an hour
ago. I would plant a fact and ask for it after 500, 2,000 and 5,000 tokens; beyond the window it
has to fail, and the product should say so.

(c) The instruction stands at the end of the prompt, so its queries have already looked at the
report: choose once, at the end of the prompt, by what the last queries look at, with their
neighbours. What goes wrong: the model writes a long summary, and what it needs for the end of it
need not be what its first words looked at. I would compare with the full cache, fact by fact, for
facts from the beginning, the middle and the end.

(b) is the one for which nothing that forgets is right. The questions come after the choice: a key
that nobody has looked at yet gets no weight, and it may be the one clause that is asked for.
Received weight says what was needed, not what will be. Here I would keep all keys and let each
query choose which to read, so that a step reads 2,048 but nothing is lost; that takes memory for
the whole contract. If the memory is not there, then fewer bits for each key, or keys outside of
the device, not fewer keys. The test asks for single clauses at known places, with questions that
are not in the prompt.
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
