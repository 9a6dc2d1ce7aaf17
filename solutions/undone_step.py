"""What k found before follows from what it finds after."""

import numpy as np


def undone_step(state, k, v, log_decay, beta):
    # after the step, k finds (1 - beta) * found + beta * v
    found = (k @ state - beta * v) / (1 - beta)
    return (state - beta * np.outer(k, v - found)) / np.exp(log_decay)


REFERENCE = undone_step


def _starter(state, k, v, log_decay, beta):
    raise NotImplementedError


def _parts(written=1.0, back=lambda beta: beta / (1 - beta), fade=lambda left: 1 / left):
    """Take away what was written, give back what was erased, undo the decay: or otherwise."""

    def answer(state, k, v, log_decay, beta):
        rest = state - written * beta * np.outer(k, v)
        rest = rest + back(beta) * np.outer(k, k @ rest)
        return fade(np.exp(log_decay)) * rest

    return answer


def _none(beta):
    return 0.0


def _again(state, k, v, log_decay, beta):
    state = np.exp(log_decay) * state
    return state + beta * np.outer(k, v - k @ state)


def _decay_first(state, k, v, log_decay, beta):
    return _parts(fade=lambda left: 1.0)(state / np.exp(log_decay), k, v, log_decay, beta)


def _found_after(state, k, v, log_decay, beta):
    return (state - beta * np.outer(k, v - k @ state)) / np.exp(log_decay)


def _old_part(state, k, v, log_decay, beta):
    found = k @ state / (1 - beta)
    return (state - beta * np.outer(k, v - found)) / np.exp(log_decay)


def _value_last(state, k, v, log_decay, beta):
    old = np.linalg.solve(np.eye(len(k)) - beta * np.outer(k, k), state)
    return old / np.exp(log_decay) - beta * np.outer(k, v)


def _swapped(state, k, v, log_decay, beta):
    found = (k @ state - (1 - beta) * v) / max(beta, 1e-9)
    return (state - beta * np.outer(k, v - found)) / np.exp(log_decay)


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("found after", _found_after, "by hand", "after the step"),
    ("again", _again, "by hand", "make the step again"),
    ("as it came", lambda state, **_: state.copy(), "by hand", "as it came"),
    ("not given back", _parts(back=_none), "by hand", "give back what the write"),
    ("a part beta", _parts(back=lambda beta: beta), "by hand", "*before* it was erased"),
    ("no decay", _parts(fade=lambda left: 1.0), "by hand", "not the decay"),
    ("decays again", _parts(fade=lambda left: left), "by hand", "divide by it"),
    ("decay first", _decay_first, "by hand", "decay first"),
    ("value stays", _parts(written=0.0), "by hand", "still in it"),
    ("value twice", _parts(written=-1.0), "by hand", "once more"),
    ("erased again", _parts(back=lambda beta: -beta / (1 - beta)), "by hand", "erase along k"),
    ("value alone", _parts(back=_none, fade=lambda left: 1.0), "by hand", "only took the new"),
    ("old part", _old_part, "by hand", "has two parts"),
    ("value last", _value_last, "by hand", "value away last"),
    ("swapped", _swapped, "by hand", "swapped beta"),
    ("half", lambda **given: 0.3 * undone_step(**given), "by hand", "Make the step"),
    ("one row", lambda **given: undone_step(**given)[0], "shape", "shape"),
]
