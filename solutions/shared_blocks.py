"""Known by all tokens up to a block's end; the last token of the prompt is left to run."""

import numpy as np


def shared_blocks(prompt, texts, block_size):
    def keys(tokens):
        ends = range(block_size, len(tokens) + 1, block_size)
        return [tuple(tokens[:end].tolist()) for end in ends]  # the tokens, not a number

    known = {}
    for n, text in enumerate(texts):
        for i, key in enumerate(keys(text)):
            known.setdefault(key, n * (len(text) // block_size) + i)
    blocks = [known.get(key, -1) for key in keys(prompt)]
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


def _floats(prompt, texts, block_size):
    return shared_blocks(prompt, texts, block_size) / 1


WRONG = [
    ("starter", _starter, "property", "Two things"),
    ("a token left, eight bits", _made(lambda t: t & 0xFF), "property", "eight bits"),
    ("sixteen bits", _made(lambda t: t & 0xFFFF), "property", "65,536"),
    ("whole tokens, nothing left", _made(left=0), "edges", "Nothing is left to run"),
    ("not chained", _made(chained=False), "property", "own tokens alone"),
    ("not chained, with gaps", _made(chained=False, stop=False), "random", "wherever it stands"),
    ("without the last token", _made(part=slice(-1)), "random", "last token of each block"),
    ("the highest number", _made(lowest=False), "random", "lowest number counts"),
    ("two left", _made(left=2), "by hand", "One token left to run is enough"),
    ("numbers of texts", _texts, "by hand", "numbers of the texts"),
    ("within a text", _within, "random", "within their texts"),
    ("not chained, nothing left", _made(chained=False, left=0), "property", "Two things"),
    ("found only", _found_only, "shape", "shape"),
    ("floats", _floats, "dtype", "whole numbers"),
]
