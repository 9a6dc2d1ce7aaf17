"""Front chunks by rank, back chunks against it."""

import numpy as np


def text_order(parts):
    front, back = np.split(parts, 2, axis=1)  # (ranks, chunk, width)
    # rank 0 has the last chunk of all
    rows = np.concatenate([front, back[::-1]])
    return rows.reshape(-1, parts.shape[2])


REFERENCE = text_order


def _starter(parts):
    raise NotImplementedError


def _joined(make):
    """An answer from the two halves."""

    def answer(parts):
        front, back = np.split(parts, 2, axis=1)
        return np.concatenate(make(front, back)).reshape(-1, parts.shape[2])

    return answer


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("ranks in a row", lambda parts: parts.reshape(-1, parts.shape[2]), "by hand",
     "one after the other"),
    ("not mirrored", _joined(lambda f, b: [f, b]), "by hand", "the last chunk of the text"),
    ("tokens mirrored", _joined(lambda f, b: [f, b[::-1, ::-1]]), "by hand", "inside the back"),
    ("tokens alone", _joined(lambda f, b: [f, b[:, ::-1]]), "by hand", "other way around"),
    ("the front", _joined(lambda f, b: [f[::-1], b]), "by hand", "mirrored the front"),
    ("both", _joined(lambda f, b: [f[::-1], b[::-1]]), "by hand", "front chunks too"),
    ("back first", _joined(lambda f, b: [b[::-1], f]), "by hand", "begin with the back"),
    ("striped", lambda parts: parts.swapaxes(0, 1).reshape(-1, parts.shape[2]), "by hand",
     "single tokens"),
    ("in turn", lambda parts: np.stack([np.split(parts, 2, axis=1)[0],
     np.split(parts, 2, axis=1)[1][::-1]], axis=1).reshape(-1, parts.shape[2]), "by hand",
     "take turns"),
    ("as parts", lambda parts: parts, "shape", "shape"),
    ("half", lambda parts: 0.5 * text_order(parts), "by hand", "Some rows"),
]  # fmt: skip
