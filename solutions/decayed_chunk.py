"""Differences of sums of logarithms, so that no exponential overflows."""

import numpy as np


def decayed_chunk(q, k, v, log_decay, state):
    done = np.cumsum(log_decay)
    # Above the diagonal is the future. Its exponential would overflow.
    between = np.tril(np.exp(np.minimum(done[:, None] - done, 0)))
    out = np.exp(done)[:, None] * (q @ state) + between * (q @ k.T) @ v
    left = np.exp(done[-1] - done)[:, None]
    return out, np.exp(done[-1]) * state + (k * left).T @ v


REFERENCE = decayed_chunk


def _starter(q, k, v, log_decay, state):
    raise NotImplementedError


def _walk(order, factor=np.exp, scale=1.0):
    """Token by token in another order."""

    def answer(q, k, v, log_decay, state):
        out = np.empty_like(v)
        for t in range(len(q)):
            for step in order.split():
                if step == "decay":
                    state = factor(log_decay[t]) * state
                elif step == "write":
                    state = state + k[t][:, None] * v[t]
                else:
                    out[t] = scale * q[t] @ state
        return out, state

    return answer


def _growing(log_decay):
    with np.errstate(over="ignore"):
        return np.exp(-log_decay)


def _changed(out=None, state=None):
    """The right answer with one of its two parts made otherwise."""

    def answer(q, k, v, log_decay, state_in):
        given = {"q": q, "k": k, "v": v, "log_decay": log_decay, "state": state_in}
        good_out, good_state = decayed_chunk(q, k, v, log_decay, state_in)
        return (out(**given) if out else good_out), (state(**given) if state else good_state)

    return lambda q, k, v, log_decay, state: answer(q, k, v, log_decay, state)


def _divided(q, k, v, log_decay, state):
    with np.errstate(all="ignore"):
        left = np.exp(np.cumsum(log_decay))[:, None]
        pairs = np.tril((q * left) @ (k / left).T)
        return left * (q @ state) + pairs @ v, left[-1] * (state + (k / left).T @ v)


def _inside(q, k, log_decay):
    done = np.cumsum(log_decay)
    return np.tril(np.exp(np.minimum(done[:, None] - done, 0))) * (q @ k.T)


def _open(log_decay):
    """Decays between tokens that also grow backwards."""
    done = np.cumsum(log_decay)
    with np.errstate(over="ignore"):
        return np.exp(done[:, None] - done)


def _past(q, log_decay, state):
    return np.exp(np.cumsum(log_decay))[:, None] * (q @ state)


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("after the read", _walk("write read decay"), "by hand", "after a token has read"),
    ("own write decays", _walk("write decay read"), "by hand", "own write has decayed"),
    ("reads first", _walk("decay read write"), "by hand", "before it writes"),
    ("reads at once", _walk("read decay write"), "by hand", "before anything else"),
    ("no decay", _walk("write read"), "by hand", "Nothing decays"),
    ("logarithms", _walk("decay write read", lambda g: g), "by hand", "by the logarithm"),
    ("grows", _walk("decay write read", _growing),
     "by hand", "state grows"),
    ("empty", lambda q, k, v, log_decay, state: decayed_chunk(q, k, v, log_decay, 0 * state),
     "by hand", "empty state"),
    ("old state", _changed(state=lambda state, **_: state.copy()), "by hand", "as it came"),
    ("chunk alone", _changed(out=lambda q, k, v, log_decay, **_: _inside(q, k, log_decay) @ v),
     "by hand", "leave out what earlier"),
    ("fresh state", _changed(out=lambda q, k, v, log_decay, state: q @ state
                             + _inside(q, k, log_decay) @ v), "by hand", "hadn't decayed"),
    ("no decay inside", _changed(out=lambda q, k, v, log_decay, state: np.exp(np.cumsum(
        log_decay))[:, None] * (q @ state) + np.tril(q @ k.T) @ v), "by hand", "nothing decays"),
    ("whole writes", _changed(state=lambda k, v, log_decay, state, **_: np.exp(log_decay.sum())
                              * state + k.T @ v), "by hand", "of this chunk haven't decayed"),
    ("whole state", _changed(state=lambda k, v, log_decay, state, **_: state + (k * np.exp(
        log_decay.sum() - np.cumsum(log_decay))[:, None]).T @ v), "by hand",
     "earlier chunks wrote hasn't decayed"),
    ("divided", _divided, "finite", "differences of the sums"),
    ("masked late", _changed(out=lambda q, k, v, log_decay, state: _past(q, log_decay, state)
                             + np.tri(len(q)) * _open(log_decay) * (q @ k.T) @ v),
     "finite", "infinity times 0"),
    ("no mask", _changed(out=lambda q, k, v, log_decay, state: _past(q, log_decay, state)
                         + np.minimum(_open(log_decay), 1) * (q @ k.T) @ v),
     "by hand", "mask is missing"),
    ("no mask, growing", _changed(out=lambda q, k, v, log_decay, state: _past(
        q, log_decay, state) + _open(log_decay) * (q @ k.T) @ v), "by hand", "mask is missing"),
    ("own write in the state", _changed(state=lambda k, v, log_decay, state, **_: np.exp(
        log_decay.sum()) * state + (k * np.exp(log_decay.sum() - np.cumsum(log_decay) + log_decay)[
            :, None]).T @ v), "by hand", "at its own token"),
    ("halved", _walk("decay write read", scale=0.5), "by hand", "halve"),
    ("the output alone", lambda q, k, v, log_decay, state: decayed_chunk(
        q, k, v, log_decay, state)[0], "type", "2 arrays"),
]  # fmt: skip
