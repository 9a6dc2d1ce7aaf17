"""Attention on several devices, in NumPy, for readers of the first text.

The first axis is the rank: x[r] is what rank r holds. Numbers get from one rank to
another in the first four functions and nowhere else. Each of them also returns how
many numbers a rank has sent.
"""

import numpy as np

from mini_attn.plain import (
    attention,
    merge_attention,
    online_attention,
    softmax,
    visible,
)

# ---- What ranks send each other ----


def exchange(x):
    """Send to the next rank, receive from the one before: a ring."""
    return np.roll(x, 1, axis=0), x[0].size


def all_to_all(x, cut, join):
    """Cut an axis into a part for each rank; join what comes along another."""
    parts = np.stack(np.split(x, len(x), axis=cut), axis=1)  # (from, to, …)
    sent = parts[0, 1:].size  # one part is for the rank itself
    return np.concatenate(parts, axis=join), sent


def all_gather(x):
    """Send what each rank holds to all others, (ranks, ranks, …)."""
    return np.stack([x] * len(x)), x[0].size * (len(x) - 1)


def all_reduce(x):
    """Give every rank the sum: each adds up one part of it, then they gather."""
    parts = np.stack(np.split(x, len(x), axis=-1), axis=1)  # (ranks, ranks, …)
    summed, sent = parts.sum(axis=0), parts[0, 1:].size  # rank r has part r
    gathered, sent_back = all_gather(summed)  # (ranks, ranks, …)
    return np.concatenate(gathered.swapaxes(0, 1), axis=-1), sent + sent_back


# ---- Tensor parallel: heads and columns are split ----


def split_weights(W, ranks, n_kv_heads):
    """Give each rank its heads of a layer and its columns of the MLP.

    With fewer key/value heads than ranks, several ranks copy the same one.
    """
    few = min(ranks, n_kv_heads)
    parts = {name: np.split(W[name], ranks, axis=1) for name in ("q", "gate", "up")}
    for name in ("k", "v"):
        heads = np.split(W[name], few, axis=1)  # (d_model, its heads * head_dim)
        parts[name] = [heads[r * few // ranks] for r in range(ranks)]
    for name in ("o", "down"):  # rows: what reads those heads and columns
        parts[name] = np.split(W[name], ranks, axis=0)
    shares = ({name: part[r] for name, part in parts.items()} for r in range(ranks))
    return [W | share for share in shares]


def tensor_parallel(half, x, shares):
    """Compute half a layer, attention or MLP: every rank a part, then they add up.

    x is (ranks, batch, seq, d_model), the same tokens on every rank.
    """
    outs = [half(tokens, W) for tokens, W in zip(x, shares, strict=True)]
    return all_reduce(np.stack(outs))  # (ranks, batch, seq, d_model)


# ---- Sequence parallel: tokens are split ----


def shard_positions(n, ranks, order):
    """Deal out positions to ranks, (ranks, n / ranks).

    In zigzag order a rank has one chunk from the front and its mirror image from
    the back, so that under a causal mask all have the same number of keys to read.
    """
    if order == "contiguous":
        return np.arange(n).reshape(ranks, -1)
    chunks = np.arange(n).reshape(2 * ranks, -1)  # (2 ranks, chunk)
    return np.concatenate([chunks[:ranks], chunks[: ranks - 1 : -1]], axis=1)


def ring(q, k, v, positions, scale, window=np.inf):
    """Keep queries, pass keys and values around; each round merges one more block.

    Arrays are (ranks, batch, heads, seq / ranks, head_dim). Also returned is how
    many pairs of query and key each rank has compared in each round.
    """
    ranks, kv_positions = len(q), positions
    kv = np.concatenate([k, v], axis=-1)  # one message, of few heads
    out = np.zeros((*q.shape[:-1], v.shape[-1]))
    lse = np.full(q.shape[:-1], -np.inf)
    pairs, sent = np.zeros((ranks, ranks), int), 0  # (rounds, ranks)
    for turn in range(ranks):
        k, v = np.split(kv, [q.shape[-1]], axis=-1)
        for r in range(ranks):  # at the same time
            mask = visible(positions[r], kv_positions[r], window)
            part = online_attention(q[r], k[r], v[r], mask, scale, k.shape[3])
            out[r], lse[r] = merge_attention(out[r], lse[r], *part)
            pairs[turn, r] = mask.sum()  # nothing to compute where it's 0
        if turn < ranks - 1:
            (kv, numbers), (kv_positions, _) = exchange(kv), exchange(kv_positions)
            sent += numbers  # positions needn't be sent: all ranks know them
    return out, sent, pairs


def blocks_of_rounds(ranks, order):
    """Tell what a rank computes of each block, (rounds, ranks, 2 ranks, 2 ranks).

    Query chunks by key chunks: 1 for a whole block, 1/2 for one on the diagonal.
    """
    held = shard_positions(2 * ranks, ranks, order)  # each chunk as one position
    work = np.zeros((ranks, ranks, 2 * ranks, 2 * ranks))
    for turn, r in np.ndindex(ranks, ranks):
        q, kv = held[r], held[r - turn]  # the block has come from so far
        half = (q[:, None] == kv) / 2
        work[turn, r][np.ix_(q, kv)] = visible(q, kv) - half
    return work


def idle_share(work):
    """Return the share of time that ranks wait for the busiest one of each round.

    work is (rounds, ranks), in pairs or in blocks.
    """
    return 1 - work.sum() / (work.shape[1] * work.max(axis=1).sum())


def ulysses(q, k, v, positions, scale, window=np.inf):
    """Turn split tokens into split heads and back: no rank has to merge anything.

    Arrays are (ranks, batch, heads, seq / ranks, head_dim), positions (seq,).
    """
    turned = [all_to_all(x, cut=2, join=3) for x in (q, k, v)]
    held, sent = zip(*turned, strict=True)
    mask = visible(positions, positions, window)
    heads = zip(*held, strict=True)  # (batch, n_heads / ranks, seq, …)
    outs = [attention(q, k, v, mask, scale) for q, k, v in heads]
    out, sent_back = all_to_all(np.stack(outs), cut=3, join=2)
    return out, sum(sent) + sent_back


# ---- Decode over a split cache ----


def merged_decode(q, k, v, position, kv_positions, scale):
    """Ask each rank's share of the cache; merge the answers by a soft choice.

    q is (batch, n_heads, 1, head_dim), alike on every rank; k is (ranks, batch,
    n_kv_heads, slots, head_dim), kv_positions (ranks, slots). For MLA, k is a
    latent beside its rotated key and v the latent: one head, as in `absorbed`.
    """
    parts = []
    for mine, values, at in zip(k, v, kv_positions, strict=True):
        mask = visible(position, at)
        out, lse = online_attention(q, mine, values, mask, scale, mine.shape[2])
        parts.append(np.concatenate([out, lse[..., None]], axis=-1))
    gathered, sent = all_gather(np.stack(parts))  # (ranks, ranks, …)
    outs, lse = gathered[..., :-1], gathered[..., -1]
    share = softmax(lse.swapaxes(1, -1)).swapaxes(1, -1)  # over the second axis
    return (share[..., None] * outs).sum(axis=1), sent


# ---- Two that leave attention alone ----


def data_parallel(model, requests):
    """Run the whole model on every rank, for its own requests: nothing is sent."""
    return [model(tokens) for tokens in requests]


def pipeline(stages, batches):
    """Give every rank some layers; at each tick all hand on what they have.

    Also returned is the share of time that ranks wait, at the start and at the end.
    """
    line, done = [None] * len(stages), batches[:0]
    for x in [*batches, *[None] * (len(stages) - 1)]:
        arrived = zip(stages, [x, *line[:-1]], strict=True)
        line = [y if y is None else stage(y) for stage, y in arrived]
        done = [*done, line[-1]]
    return done[len(stages) - 1 :], 1 - len(batches) / len(done)
