"""A padded token leaves the state as it is."""

import numpy as np


def padded_prompt(k, v, log_decay, beta, real, state):
    # A padded token with a value of 0 would still erase what its key
    # finds, and let the state decay. Left out, it does neither.
    for t in np.flatnonzero(real):
        state = np.exp(log_decay[t]) * state
        found = k[t] @ state
        state = state + beta[t] * np.outer(k[t], v[t] - found)
    return state


REFERENCE = padded_prompt


def _loop(change=lambda given: given, found_first=False, delta=True):
    """The loop over all tokens, after something was done to the inputs."""

    def answer(k, v, log_decay, beta, real, state):
        given = {"k": k, "v": v, "g": log_decay, "b": beta, "real": real, "state": state}
        given |= change(given)
        k, v, g, b, _, state = given.values()
        for t in range(len(k)):
            before, state = state, np.exp(g[t]) * state
            found = k[t] @ (before if found_first else state) if delta else 0
            state = state + b[t] * np.outer(k[t], v[t] - found)
        return state

    return answer


def _masked(*names):
    """Each of these is 0 at padded tokens."""
    return lambda given: {
        name: given[name] * given["real"].reshape(-1, *[1] * (given[name].ndim - 1))
        for name in names
    }


def _from_first(k, v, log_decay, beta, real, state):
    first = int(np.argmax(real)) if real.any() else len(real)
    return padded_prompt(k[first:], v[first:], log_decay[first:], beta[first:],
                         np.ones(len(real) - first, bool), state)  # fmt: skip


def _from_end(k, v, log_decay, beta, real, state):
    n = len(real) - real.sum()
    return padded_prompt(k[n:], v[n:], log_decay[n:], beta[n:], np.ones(real.sum(), bool), state)


def _at_once(k, v, log_decay, beta, real, state):
    k, v, beta = k[real], v[real], beta[real]
    state = np.exp(log_decay[real].sum()) * state
    return state + (beta[:, None] * k).T @ (v - k @ state)


def _from_argmax(k, v, log_decay, beta, real, state):
    first = int(np.argmax(real))
    return padded_prompt(k[first:], v[first:], log_decay[first:], beta[first:],
                         np.ones(len(real) - first, bool), state)  # fmt: skip


def _first_ones(k, v, log_decay, beta, real, state):
    return padded_prompt(k, v, log_decay, beta, np.arange(len(real)) < real.sum(), state)


def _shifted(k, v, log_decay, beta, real, state):
    n = real.sum()
    return padded_prompt(k[real], v[real], log_decay[:n], beta[:n], np.ones(n, bool), state)


def _emptied(k, v, log_decay, beta, real, state):
    with np.errstate(divide="ignore"):
        left = np.where(real, log_decay, np.log(0.0))
    return _loop()(k, v, left, real * beta, real, state)


WRONG = [
    ("starter", _loop(_masked("v")), "by hand", "same fault"),
    ("nothing masked", _loop(), "by hand", "all that real ones do"),
    ("no write", _loop(_masked("b")), "by hand", "still decays"),
    ("no key", _loop(_masked("k")), "by hand", "still decays"),
    ("erases", _loop(_masked("v", "g")), "by hand", "erases what the key finds"),
    ("decay alone", _loop(_masked("g")), "by hand", "write their values"),
    ("in front", _from_first, "property", "may be anywhere"),
    ("from the end", _from_end, "property", "as many from the end"),
    ("from argmax", _from_argmax, "property", "argmax gives 0"),
    ("from the front", _first_ones, "by hand", "as many from the front"),
    ("shifted", _shifted, "by hand", "numbers of others"),
    ("emptied", _emptied, "by hand", "multiplied by 0"),
    ("at once", _at_once, "random", "write at once"),
    ("swapped", lambda k, v, log_decay, beta, real, state: padded_prompt(
        k, v, log_decay, beta, ~real, state), "by hand", "drop the real ones"),
    ("begins anew", lambda k, v, log_decay, beta, real, state: padded_prompt(
        k, v, log_decay, beta, real, 0 * state), "by hand", "said before is in"),
    ("never decays", lambda k, v, log_decay, beta, real, state: padded_prompt(
        k, v, 0 * log_decay, beta, real, state), "by hand", "Nothing decays"),
    ("found first", _loop(_masked("g", "b"), found_first=True), "by hand", "before the state"),
    ("a sum", _loop(_masked("g", "b"), delta=False), "by hand", "without taking away"),
    ("a sum, padded", _loop(_masked("v"), delta=False), "by hand", "Two things"),
    ("halved", lambda **given: 0.5 * padded_prompt(**given), "by hand", "what it was before"),
    ("one row", lambda **given: padded_prompt(**given)[0], "shape", "shape"),
]  # fmt: skip
