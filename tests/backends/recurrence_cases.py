"""Random sequences for layers with a state: every form, backend and chunk length gives the same.

`python -m tests.backends.recurrence_cases 500` prints the largest difference of so many cases.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

import mini_attn.numpy as ma
from mini_attn.plain import state as plain
from tests.conftest import Backend

BACKENDS = (Backend("numpy"), Backend("torch"))
DECAYS = ("none", "constant", "per token", "per channel")
KINDS = {  # whose layer it is, its decay and whether it corrects
    "linear": ("none", False),
    "retention": ("constant", False),
    "mamba2": ("per token", False),
    "gated linear": ("per channel", False),
    "delta": ("none", True),
    "gated delta": ("per token", True),
    "kimi delta": ("per channel", True),
}


@dataclass(frozen=True)
class Case:
    """What one call is given, float64."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    options: dict[str, Any]

    @property
    def seq(self) -> int:
        return int(self.q.shape[2])

    def call(self, lib: Backend, form: str, **more: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return outputs and the last state of one form in one backend."""
        convert = lambda a: lib.array(a) if isinstance(a, np.ndarray) else a  # noqa: E731
        options = {name: convert(value) for name, value in self.options.items()}
        call = getattr(lib, f"{form}_attention")
        found = call(
            *map(lib.array, (self.q, self.k, self.v)), return_state=True, **options, **more
        )
        return tuple(map(lib.numpy, found))  # type: ignore[return-value]


def draw(rng: np.random.Generator, kind: str, most: int = 20) -> Case:
    """Return a case of any sizes, with or without a first state and padded tokens."""
    decay, corrects = KINDS[kind]
    batch, heads = rng.integers(1, 3, 2)
    key_dim, width, seq = rng.integers(1, 7), rng.integers(1, 7), rng.integers(1, most + 1)
    q, k = rng.normal(size=(2, batch, heads, seq, key_dim))
    k /= np.linalg.norm(k, axis=-1, keepdims=True)
    options: dict[str, Any] = {}
    strength = 10.0 ** rng.integers(-2, 4)  # one of 1000 leaves nothing
    if decay == "constant":
        rates = -rng.exponential(strength, (heads, 1))
        options["log_decay"] = np.broadcast_to(rates, q.shape[:3]).copy()
    elif decay != "none":
        shape = q.shape[: 3 if decay == "per token" else 4]
        options["log_decay"] = -rng.exponential(strength, shape)
        options["log_decay"][rng.uniform(size=shape) < 0.05] = -np.inf
    if corrects:
        options["beta"] = rng.uniform(0, 2, q.shape[:3])
    if rng.uniform() < 0.5:
        options["keep"] = rng.uniform(size=(batch, seq)) < 0.7
    if rng.uniform() < 0.5:
        options["state"] = rng.normal(size=(batch, heads, key_dim, width))
    if rng.uniform() < 0.5:
        options["scale"] = float(rng.normal())
    if not corrects and "state" not in options and rng.uniform() < 0.3:
        q, k = ma.feature_map(q), ma.feature_map(k)
        options["normalize"] = True
    return Case(q, k, rng.normal(size=(batch, heads, seq, width)), options)


def by_plain(case: Case, chunk: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return what the plain text gives: only for the tokens that are kept, row by row."""
    options = dict(case.options)
    scale = options.get("scale", case.q.shape[3] ** -0.5)
    keep = options.get("keep", np.ones((len(case.q), case.seq), bool))
    v = case.v
    if options.get("normalize"):
        v = np.concatenate([v, np.ones_like(v[..., :1])], axis=-1)
    decay = np.exp(options.get("log_decay", np.zeros(case.q.shape[:3])))
    decay = decay if decay.ndim == 4 else decay[..., None]
    out = np.zeros(v.shape)
    states = options.get("state", np.zeros((*case.q.shape[:2], case.q.shape[3], v.shape[3]))).copy()
    for row, kept in enumerate(keep):
        if not kept.any():
            continue
        q, k, values, left = (a[row : row + 1, :, kept] for a in (case.q * scale, case.k, v, decay))
        beta = options["beta"][row : row + 1, :, kept] if "beta" in options else None
        first = states[row : row + 1]
        if chunk is None:
            found = plain.recurrent_attention(q, k, values, left, beta, first)
        else:
            found = plain.chunked_attention(q, k, values, left, beta, first, chunk=chunk)
        out[row, :, kept] = found[0][0].swapaxes(0, 1)
        states[row] = found[1][0]
    if options.get("normalize"):
        total = out[..., -1:]
        out = np.where(total == 0, 0, out[..., :-1] / np.where(total == 0, 1, total))
    return out, states


def largest_difference(case: Case) -> float:
    """Return the largest difference of any form from the plain steps, any chunk length."""
    expected = by_plain(case, None)
    found = [by_plain(case, chunk) for chunk in (1, 3, case.seq)]
    for lib in BACKENDS:
        found += [case.call(lib, "recurrent"), case.call(lib, "parallel")]
        found += [case.call(lib, "chunked", chunk=n) for n in range(1, case.seq + 2)]
    worst = 0.0
    for pair in found:
        for one, other in zip(pair, expected, strict=True):
            assert one.shape == other.shape
            size = max(1.0, float(np.abs(other).max()))
            worst = max(worst, float(np.abs(one - other).max()) / size)
    return worst


def state_errors(tokens: int, *, corrects: bool, key_dim: int = 32) -> dict[str, float]:
    """Return the relative error of outputs where the state, or what is given, has few digits.

    Step by step, with the delta rule and 1% forgotten at each token, or sums alone; float64 is the
    yardstick.
    """
    import torch

    rng, lib = np.random.default_rng(0), BACKENDS[1]
    shape = (1, 4, tokens, key_dim)
    q, k, v = (torch.from_numpy(rng.normal(size=shape)) for _ in range(3))
    k = k / k.norm(dim=-1, keepdim=True)
    options = {}
    if corrects:
        options["beta"] = torch.from_numpy(rng.uniform(size=shape[:3]))
        options["log_decay"] = torch.full(shape[:3], -0.01, dtype=torch.float64)

    def rounded(array: Any, kind: Any) -> Any:
        return array if kind is None else array.to(kind).double()

    def run(kept: Any, given: Any) -> Any:
        arrays = [rounded(a, given) for a in (q, k, v)]
        state, outs = torch.zeros(1, 4, key_dim, key_dim, dtype=torch.float64), []
        for t in range(tokens):
            at = slice(t, t + 1)
            now = {name: a[:, :, at] for name, a in options.items()}
            step = lib.recurrent_attention(
                *(a[:, :, at] for a in arrays), **now, state=state, return_state=True
            )
            outs.append(step[0])
            state = rounded(step[1], kept)
        return torch.cat(outs, dim=2)

    exact, half = run(None, None), torch.bfloat16
    kinds = {"float32": (torch.float32, None), "inputs": (None, half), "bfloat16": (half, None)}
    return {name: float((run(*kind) - exact).norm() / exact.norm()) for name, kind in kinds.items()}


def main(cases: int) -> None:
    """Print the largest difference of each kind."""
    rng = np.random.default_rng(33)
    worst = dict.fromkeys(KINDS, 0.0)
    for number in range(cases):
        kind = list(KINDS)[number % len(KINDS)]
        worst[kind] = max(worst[kind], largest_difference(draw(rng, kind)))
    for kind, difference in worst.items():
        print(f"{kind:14}{difference:.1e}")
    for tokens in (64, 512, 4096):
        for corrects, words in ((False, "sums"), (True, "delta rule, 1% forgotten")):
            errors = state_errors(tokens, corrects=corrects)
            told = ", ".join(f"{name} {error:.1e}" for name, error in errors.items())
            print(f"{tokens} tokens, {words}: relative error by the state's type: {told}")
    print(f"{cases} cases, largest difference {max(worst.values()):.1e}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
