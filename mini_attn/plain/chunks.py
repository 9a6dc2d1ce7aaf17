"""What Llama 4 changed of attention, in NumPy, for readers of the first text.

Most layers read the text in chunks. In the others nothing turns, and queries grow.
"""

import numpy as np

from mini_attn.plain import visible


def visible_in_chunk(q_positions, kv_positions, size):
    """Mark where a query may attend: in its own chunk, not of the future."""
    q, kv = q_positions[..., :, None], kv_positions[..., None, :]
    return visible(q_positions, kv_positions) & (q // size == kv // size)


def grow(q, positions, weight, every, offset=0):
    """Lengthen queries by the logarithm of their position.

    A softmax over more keys is flatter: larger scores keep it as sharp.
    """
    steps = (positions + offset) // every  # (q_len,)
    return q * (1 + weight * np.log1p(steps))[:, None]
