"""Known by all tokens up to a block's end; the last token of the prompt is left to run."""

import numpy as np


def shared_blocks(prompt, texts, block_size):
    # A key or value depends on all tokens before it, so a block is
    # known by all of them up to its end. A number made of the tokens
    # isn't enough: two texts can share it.
    def keys(tokens):
        ends = range(block_size, len(tokens) + 1, block_size)
        return [tuple(tokens[:end].tolist()) for end in ends]  # the tokens, not a number

    known = {}
    for n, text in enumerate(texts):
        for i, key in enumerate(keys(text)):
            known.setdefault(key, n * (len(text) // block_size) + i)
    blocks = [known.get(key, -1) for key in keys(prompt)]
    # The last token has to run to give the next one, even if all is
    # cached.
    if blocks and len(prompt) % block_size == 0:
        blocks[-1] = -1
    return np.array(blocks, dtype=int)


REFERENCE = shared_blocks


def _made(cut=lambda token: token, chained=True, left=1, stop=True, lowest=True, part=slice(None)):
    """The function with other keys."""

    def answer(prompt, texts, block_size):
        def keys(tokens):
            found, before = [], ()
            for i in range(0, len(tokens) - block_size + 1, block_size):
                own = tuple(cut(int(t)) for t in tokens[i : i + block_size])[part]
                before = (before, own) if chained else own
                found.append(before)
            return found

        known = {}
        for n, text in enumerate(texts):
            for i, key in enumerate(keys(text)):
                if not (lowest and key in known):
                    known[key] = n * (len(text) // block_size) + i
        blocks, missed = [], False
        for i, key in enumerate(keys(prompt)):
            block = known.get(key, -1)
            missed = missed or block < 0 or (i + 1) * block_size > len(prompt) - left
            alone = block if (i + 1) * block_size <= len(prompt) - left else -1
            blocks.append((-1 if missed else block) if stop else alone)
        return np.array(blocks, dtype=int)

    return answer


def _starter(prompt, texts, block_size):
    return _made(lambda t: t & 0xFF, left=0)(prompt, texts, block_size)


def _texts(prompt, texts, block_size):
    blocks = shared_blocks(prompt, texts, block_size)
    return np.where(blocks < 0, -1, blocks // (texts.shape[1] // block_size))


def _within(prompt, texts, block_size):
    blocks = shared_blocks(prompt, texts, block_size)
    return np.where(blocks < 0, -1, blocks % (texts.shape[1] // block_size))


def _found_only(prompt, texts, block_size):
    blocks = shared_blocks(prompt, texts, block_size)
    return blocks[blocks >= 0][:1]


def _uncompared(key):
    """Found by a number of Python's own."""

    def answer(prompt, texts, block_size):
        def keys(tokens):
            found, before = [], 0
            for i in range(0, len(tokens) - block_size + 1, block_size):
                part = tuple(int(t) for t in tokens[i : i + block_size])
                before = key(before, part, tokens[: i + block_size].tolist())
                found.append(before)
            return found

        known = {}
        for n, text in enumerate(texts):
            for i, number in enumerate(keys(text)):
                known.setdefault(number, n * (len(text) // block_size) + i)
        blocks = [known.get(number, -1) for number in keys(prompt)]
        if blocks and len(prompt) % block_size == 0:
            blocks[-1] = -1
        return np.array(blocks, dtype=int)

    return answer


def _compared(whole, first=False):
    """Found by eight bits of each token, and compared with the text that has the same."""

    def answer(prompt, texts, block_size):
        blocks = []
        for end in range(block_size, len(prompt) + 1, block_size):
            begin = 0 if whole else end - block_size
            short = texts[: 0 if end > texts.shape[1] or end == len(prompt) else None, :end]
            at = np.flatnonzero((short & 0xFF == prompt[: short.shape[1]] & 0xFF).all(1))
            at = [n for n in at[: 1 if first else None]
                  if np.array_equal(texts[n, begin:end], prompt[begin:end])]  # fmt: skip
            per = texts.shape[1] // block_size
            lost = blocks and blocks[-1] < 0
            blocks.append(at[0] * per + end // block_size - 1 if at and not lost else -1)
        return np.array(blocks, dtype=int)

    return answer


def _two(prompt, texts, block_size):
    def keys(tokens):
        ends = range(block_size, len(tokens) + 1, block_size)
        return [(end > block_size, *tokens[max(0, end - 2 * block_size) : end]) for end in ends]

    known = {}
    for n, text in enumerate(texts.tolist()):
        for i, key in enumerate(keys(text)):
            known.setdefault(key, n * (len(text) // block_size) + i)
    blocks = [known.get(key, -1) for key in keys(prompt.tolist())]
    if blocks and len(prompt) % block_size == 0:
        blocks[-1] = -1
    return np.array(blocks, dtype=int)


def _one_text(prompt, texts, block_size):
    blocks = shared_blocks(prompt, texts, block_size)
    found = (blocks >= 0).sum()
    same = (texts[:, : found * block_size] == prompt[: found * block_size]).all(1)
    each = same.argmax() * (texts.shape[1] // block_size) + np.arange(len(blocks))
    return np.where(blocks < 0, -1, each)


def _floats(prompt, texts, block_size):
    return shared_blocks(prompt, texts, block_size) / 1


WRONG = [
    ("starter", _starter, "property", "Two things"),
    ("a token left, eight bits", _made(lambda t: t & 0xFF), "property", "eight bits"),
    ("sixteen bits", _made(lambda t: t & 0xFFFF), "property", "65,536"),
    ("whole tokens, nothing left", _made(left=0), "edges", "leave nothing to run"),
    ("not chained", _made(chained=False), "property", "own tokens alone"),
    ("not chained, with gaps", _made(chained=False, stop=False), "random", "wherever it is"),
    ("without the last token", _made(part=slice(-1)), "random", "last token of each block"),
    ("a tuple's hash", _uncompared(lambda key, part, all_: hash((key, part))), "property",
     "nothing is compared"),
    ("a hash of the numbers", _uncompared(lambda key, part, all_: hash((key, *part))), "property",
     "nothing is compared"),
    ("a hash of the prefix", _uncompared(lambda key, part, all_: hash(tuple(all_))), "property",
     "nothing is compared"),
    ("a sum", _uncompared(lambda key, part, all_: key + sum(part)), "property", "sum of tokens"),
    ("sums", _uncompared(lambda key, part, all_: (key, sum(part))), "property", "sum of tokens"),
    ("the block before alone", _two, "property", "block before alone"),
    ("any order", _uncompared(lambda key, part, all_: (key, tuple(sorted(part)))), "property",
     "in another order"),
    ("digits", _uncompared(lambda key, part, all_: "".join(map(str, all_))), "property",
     "where one ends"),
    ("own tokens compared", _compared(False), "property", "may differ"),
    ("the first compared", _compared(True, first=True), "property", "never found"),
    ("all of one text", _one_text, "by hand", "matches for longest"),
    ("the highest number", _made(lowest=False), "by hand", "the lowest number"),
    ("two left", _made(left=2), "by hand", "One token left to run is enough"),
    ("numbers of texts", _texts, "by hand", "numbers of the texts"),
    ("within a text", _within, "by hand", "within their texts"),
    ("not chained, nothing left", _made(chained=False, left=0), "property", "Two things"),
    ("found only", _found_only, "shape", "shape"),
    ("floats", _floats, "dtype", "whole numbers"),
]  # fmt: skip
