"""Attention with a state instead of a cache: one matrix per head that each token rewrites."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mini_attn.config import score_factor
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.shapes import check_count, check_flag, named_shapes
from mini_attn.torch._module import check_array, check_floating, wide

__all__ = [
    "chunked_attention",
    "feature_map",
    "parallel_attention",
    "recurrent_attention",
    "recurrent_attention_backward",
]


class Tokens(NamedTuple):
    """What some tokens do to a state, all float32 or wider; a padded token does nothing."""

    q: Tensor  # (batch, heads, seq, key_dim), scaled
    k: Tensor  # (batch, heads, seq, key_dim)
    v: Tensor  # (batch, heads, seq, v_head_dim)
    log_decay: Tensor  # (batch, heads, seq, 1 or key_dim)
    beta: Tensor | None  # (batch, heads, seq, 1)

    def each(self, change: Callable[[Tensor], Tensor]) -> Tokens:
        """Return them with every array changed."""
        q, k, v, log_decay = (change(array) for array in self[:4])
        return Tokens(q, k, v, log_decay, None if self.beta is None else change(self.beta))

    def part(self, start: int, end: int) -> Tokens:
        """Return some of the tokens, views."""
        return self.each(lambda array: array[:, :, start:end])


def recurrent_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    log_decay: Tensor | None = None,
    beta: Tensor | None = None,
    state: Tensor | None = None,
    scale: float | None = None,
    keep: Tensor | None = None,
    normalize: bool = False,
    return_state: bool = False,
) -> Any:
    """Tokens write into one matrix per head and read from it, one after the other.

    ``S = exp(log_decay) * S;  u = beta * (v - S.T @ k), or v without beta;
    S = S + k u.T;  out = scale * S.T @ q``

    Parameters
    ----------
    q : tensor (batch, heads, seq, key_dim)
        Queries.
    k : tensor (batch, heads, seq, key_dim)
        Keys; the delta rule expects them of length 1.
    v : tensor (batch, heads, seq, v_head_dim)
        Values.
    log_decay : tensor (batch, heads, seq), (batch, heads, seq, key_dim) or None
        Logarithm of what is left of the state at each token, for the head or for each channel of
        its keys; 0 or below, where ``-inf`` forgets all. None forgets nothing.
    beta : tensor (batch, heads, seq) or None
        How much of what is found under a key its new value replaces: the delta rule. None adds
        the value to what is there.
    state : tensor (batch, heads, key_dim, v_head_dim) or None
        The state before the first token; None is zeros.
    scale : float or None
        Factor of what is read; None means ``key_dim ** -0.5``.
    keep : boolean tensor (batch, seq) or None
        False for a padded token: it neither decays nor writes, and reads zeros.
    normalize : bool
        Whether to divide what is read by the sum of the weights ``q @ k``, which
        one more column of the state keeps; not with ``beta``.
    return_state : bool
        Whether to return the state after the last token as well.

    Returns
    -------
    tensor (batch, heads, seq, v_head_dim), or a tuple (out, state)
        The output in ``q``'s type. The state (batch, heads, key_dim, v_head_dim), with
        ``normalize`` one column more, is float32 or wider, and so are all sums.

    Raises
    ------
    ShapeError
        If axes disagree.
    DTypeError
        If a tensor is not floating point, ``q``, ``k`` and ``v`` differ in type, or ``keep`` is
        not boolean.
    ConfigError
        If the scale is not finite, or ``normalize`` comes with ``beta``.

    Notes
    -----
    Without decay and beta it's linear attention, with a constant decay RetNet and lightning
    attention, with one from the data Mamba-2 (``q`` and ``k`` are its C and B, ``v`` its input
    times the step), with beta the delta rule, with both Gated DeltaNet, and with a decay for each
    channel Kimi Delta Attention. The state's bytes don't grow with the tokens.

    References
    ----------
    katharopoulos2020linear, section 3.3
    sun2023retnet, section 2.1
    qin2024lightning
    schlag2021linear
    yang2024gateddelta
    kimi2025linear
    dao2024mamba2

    Examples
    --------
    >>> import torch
    >>> k = torch.tensor([1.0, 0.0]).expand(1, 1, 2, 2)  # one key, twice
    >>> v = torch.tensor([3.0, 5.0]).reshape(1, 1, 2, 1)
    >>> recurrent_attention(k, k, v, scale=1).flatten()  # values add up
    tensor([3., 8.])
    >>> recurrent_attention(k, k, v, beta=torch.ones(1, 1, 2), scale=1).flatten()  # one is replaced
    tensor([3., 5.])
    """
    check_flag("return_state", return_state)
    tokens, held = _given(q, k, v, log_decay, beta, state, scale, keep, normalize)
    out, held = read_step_by_step(tokens, held)
    return _answer(out, held, q, normalize, return_state)


def chunked_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    chunk: int = 64,
    log_decay: Tensor | None = None,
    beta: Tensor | None = None,
    state: Tensor | None = None,
    scale: float | None = None,
    keep: Tensor | None = None,
    normalize: bool = False,
    return_state: bool = False,
) -> Any:
    """The same by matrix products: within a chunk as attention, between chunks by the state.

    ``out = scale * (q * reach) @ S + scale * pairs(q, k) @ u;  S = end * S + (k * left).T @ u``

    Parameters
    ----------
    q, k, v, log_decay, beta, state, scale, keep, normalize, return_state
        As in `recurrent_attention`.
    chunk : int
        Tokens of a chunk; the last may be shorter.

    Returns
    -------
    tensor (batch, heads, seq, v_head_dim), or a tuple (out, state)
        As from `recurrent_attention`.

    Raises
    ------
    ShapeError
        If axes disagree.
    DTypeError
        If a tensor is not floating point, ``q``, ``k`` and ``v`` differ in type, or ``keep`` is
        not boolean.
    ConfigError
        If the chunk is below 1, the scale is not finite, or ``normalize`` comes with ``beta``.

    Notes
    -----
    ``pairs(q, k)[i, j]`` is ``q_i @ k_j`` times all decays after ``j`` up to ``i``, 0 for a later
    ``j``; ``reach`` is the product of the decays up to a token, ``left`` of those after it, and
    ``end`` of all. With the delta rule the tokens of a chunk correct each other, which one
    triangular system solves: ``(1 + L) @ u = beta * (v - (k * reach) @ S)``, where ``L`` is
    ``beta * pairs(k, k)`` below the diagonal. Each decay is the exponential of a sum of logarithms
    of 0 or below, so none overflows.

    The published WY form solves for the values and for the keys before it knows the state, so
    that a GPU can do all chunks at once; solving for what the state lacks takes fewer products.
    `recurrence_flops` counts them.

    References
    ----------
    yang2024deltanet, section 3
    dao2024mamba2, section 6

    Examples
    --------
    >>> import torch
    >>> q, k, v = torch.randn(3, 1, 2, 7, 4, dtype=torch.float64)
    >>> parts = chunked_attention(q, k, v, chunk=3)
    >>> torch.allclose(parts, recurrent_attention(q, k, v))
    True
    """
    check_count("chunk", chunk)
    check_flag("return_state", return_state)
    tokens, held = _given(q, k, v, log_decay, beta, state, scale, keep, normalize)
    out, held = read_by_chunks(tokens, held, chunk, last=return_state)
    return _answer(out, held, q, normalize, return_state)


def parallel_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    log_decay: Tensor | None = None,
    beta: Tensor | None = None,
    state: Tensor | None = None,
    scale: float | None = None,
    keep: Tensor | None = None,
    normalize: bool = False,
    return_state: bool = False,
) -> Any:
    """The same as attention of every query to every key: one square, no softmax.

    ``out = scale * pairs(q, k) @ u``

    Parameters
    ----------
    q, k, v, log_decay, beta, state, scale, keep, normalize, return_state
        As in `recurrent_attention`.

    Returns
    -------
    tensor (batch, heads, seq, v_head_dim), or a tuple (out, state)
        As from `recurrent_attention`.

    Raises
    ------
    ShapeError
        If axes disagree.
    DTypeError
        If a tensor is not floating point, ``q``, ``k`` and ``v`` differ in type, or ``keep`` is
        not boolean.
    ConfigError
        If the scale is not finite, or ``normalize`` comes with ``beta``.

    Notes
    -----
    `chunked_attention` with a single chunk, which explains ``pairs`` and ``u``. Time and memory
    grow with the square of the tokens, as those of attention do.

    References
    ----------
    sun2023retnet, section 2.1
    dao2024mamba2, section 5

    Examples
    --------
    >>> import torch
    >>> q, k, v = torch.randn(3, 1, 2, 7, 4, dtype=torch.float64)
    >>> torch.allclose(parallel_attention(q, k, v), (q @ k.mT / 2).tril() @ v)
    True
    """
    check_flag("return_state", return_state)
    tokens, held = _given(q, k, v, log_decay, beta, state, scale, keep, normalize)
    out, held = read_by_chunks(tokens, held, max(q.shape[2], 1), last=return_state)
    return _answer(out, held, q, normalize, return_state)


def feature_map(x: Tensor) -> Tensor:
    """Make all numbers of a query or key positive, so that their products can be weights.

    ``features = elu(x) + 1 = (x + 1 if x > 0 else exp(x))``

    Parameters
    ----------
    x : tensor (...)
        Queries or keys.

    Returns
    -------
    tensor (...)
        In the type of ``x``.

    Raises
    ------
    DTypeError
        If ``x`` is not floating point.

    Notes
    -----
    The product of two maps is another function than ``exp(q @ k)``, and no approximation of it.

    References
    ----------
    katharopoulos2020linear, equation 7

    Examples
    --------
    >>> import torch
    >>> feature_map(torch.tensor([2.0, 0.0, -torch.inf]))
    tensor([3., 1., 0.])
    """
    check_floating("x", x)
    return torch.where(x > 0, x + 1, x.clamp(max=0).exp())


def recurrent_attention_backward(
    d_out: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    log_decay: Tensor | None = None,
    beta: Tensor | None = None,
    state: Tensor | None = None,
    scale: float | None = None,
    keep: Tensor | None = None,
    d_state: Tensor | None = None,
) -> tuple[Tensor | None, ...]:
    """Gradients of everything that `recurrent_attention` is given.

    ``d_S = d_S + scale * q d_out.T;  d_u = d_S.T @ k;
    d_S = exp(log_decay) * (d_S - beta * k d_u.T), from the last token to the first``

    Parameters
    ----------
    d_out : tensor (batch, heads, seq, v_head_dim)
        Gradient of the loss by the output.
    q, k, v, log_decay, beta, state, scale, keep
        As in `recurrent_attention`.
    d_state : tensor (batch, heads, key_dim, v_head_dim) or None
        Gradient of the loss by the state after the last token; None is zeros.

    Returns
    -------
    tuple (d_q, d_k, d_v, d_log_decay, d_beta, d_state)
        In the shapes and types of what was given, None for a decay or beta that wasn't; the last
        one belongs to the state before the first token.

    Raises
    ------
    ShapeError
        If axes disagree.
    DTypeError
        If a tensor is not floating point, ``q``, ``k`` and ``v`` differ in type, or ``keep`` is
        not boolean.
    ConfigError
        If the scale is not finite.

    Notes
    -----
    Keeps the state of every token while it runs. A padded token gets zeros.

    References
    ----------
    katharopoulos2020linear, section 3.3.1

    Examples
    --------
    >>> import torch
    >>> q = k = v = torch.ones(1, 1, 2, 1)
    >>> d_q, d_k, d_v, *_ = recurrent_attention_backward(torch.ones(1, 1, 2, 1), q, k, v)
    >>> d_q.flatten(), d_v.flatten()
    (tensor([1., 2.]), tensor([2., 1.]))
    """
    check_array("d_out", d_out)
    tokens, held = _given(q, k, v, log_decay, beta, state, scale, keep, normalize=False)
    named_shapes(v=(v, "batch heads seq v_head_dim"), d_out=(d_out, "batch heads seq v_head_dim"))
    if d_state is None:
        d_held = torch.zeros_like(held)
    else:
        check_array("d_state", d_state)
        axes = "batch heads key_dim v_head_dim"
        named_shapes(state=(held, axes), d_state=(d_state, axes))
        d_held = d_state.to(held.dtype)
    grads, d_held = _gradients(d_out.to(held.dtype), tokens, held, d_held)
    factor = score_factor(scale, None, q.shape[3])
    grads = grads._replace(q=grads.q * factor)
    if keep is not None:
        grads = grads.each(lambda array: _kept(array, keep))
    d_decay = None
    if log_decay is not None:
        d_decay = grads.log_decay if log_decay.ndim == 4 else grads.log_decay.sum(dim=-1)
        d_decay = d_decay.to(log_decay.dtype)
    d_beta = None if beta is None or grads.beta is None else grads.beta[..., 0].to(beta.dtype)
    d_first = d_held if state is None else d_held.to(state.dtype)
    found = [grad.to(q.dtype) for grad in (grads.q, grads.k, grads.v)]
    return (*found, d_decay, d_beta, d_first)


def read_step_by_step(tokens: Tokens, state: Tensor) -> tuple[Tensor, Tensor]:
    """Outputs and the last state, token by token, without checks."""
    out = []
    for t in range(tokens.q.shape[2]):
        state = tokens.log_decay[:, :, t, :, None].exp() * state
        k, u = tokens.k[:, :, t], tokens.v[:, :, t]
        if tokens.beta is not None:
            u = tokens.beta[:, :, t] * (u - _read(state, k))
        state = torch.addcmul(state, k[..., :, None], u[..., None, :])  # state + k u.T
        out.append(_read(state, tokens.q[:, :, t]))
    return torch.stack(out, dim=2) if out else torch.zeros_like(tokens.v), state


def read_by_chunks(
    tokens: Tokens, state: Tensor, chunk: int, *, last: bool = True
) -> tuple[Tensor, Tensor]:
    """Outputs and the state, up to date only if the last one is needed, without checks."""
    seq = tokens.q.shape[2]
    whole = seq - seq % chunk
    out = [tokens.v[:, :, :0]]
    for start, end, size in ((0, whole, chunk), (whole, seq, seq - whole)):
        if start < end:
            found, state = _equal_chunks(tokens.part(start, end), state, size, last or end < seq)
            out.append(found)
    return torch.cat(out, dim=2), state


def _equal_chunks(tokens: Tokens, state: Tensor, chunk: int, last: bool) -> tuple[Tensor, Tensor]:
    """Outputs and the state of chunks that are all of one length."""
    split = (*tokens.q.shape[:2], tokens.q.shape[2] // chunk, chunk, -1)
    q, k, v, log_decay, beta = tokens.each(lambda array: array.reshape(split))
    reach = log_decay.cumsum(dim=-2).exp()  # what is left of the state at each token
    left = _after(log_decay).exp()  # what is left of each token at its chunk's end
    near, asks, seeks, writes = pairs(q, k, log_decay), q * reach, k * reach, (k * left).mT
    corrects = None if beta is None else beta * pairs(k, k, log_decay)
    out, count = [], split[2]
    for i in range(count):
        u = v[:, :, i]
        if beta is not None and corrects is not None:
            missed = beta[:, :, i] * (u - seeks[:, :, i] @ state)
            u = _solve(corrects[:, :, i], missed)
        out.append(asks[:, :, i] @ state + near[:, :, i] @ u)
        if last or i + 1 < count:
            state = reach[:, :, i, -1, :, None] * state + writes[:, :, i] @ u
    return torch.cat(out, dim=2), state


def _solve(below: Tensor, right: Tensor) -> Tensor:
    """``(1 + below)^-1 @ right``; what stands on and above the diagonal is not looked at."""
    return torch.linalg.solve_triangular(below, right, upper=False, unitriangular=True)


def pairs(a: Tensor, b: Tensor, log_decay: Tensor) -> Tensor:
    """``a_i @ b_j`` times the decays after ``j`` up to ``i``; 0 for a later ``j``."""
    seq = a.shape[-2]
    if log_decay.shape[-1] == 1:  # one factor for a pair
        within = torch.ones(seq, seq, dtype=torch.bool, device=a.device).tril(-1)
        between = torch.where(within, log_decay, 0).cumsum(dim=-2)  # (…, i, j)
        return between.exp().tril() * (a @ b.mT)
    return _pairs_by_halves(a, b, log_decay)


def _pairs_by_halves(a: Tensor, b: Tensor, log_decay: Tensor) -> Tensor:
    """A square by halves: what lies between is split in the middle, so nothing grows."""
    seq = a.shape[-2]
    if seq == 1:
        return a @ b.mT
    middle = seq - 1 if seq % 2 else seq // 2
    first, second = slice(middle), slice(middle, None)
    if seq % 2:
        early, late = (
            _pairs_by_halves(*(array[..., half, :] for array in (a, b, log_decay)))
            for half in (first, second)
        )
    else:  # halves of one length are a batch
        halves = (array.reshape(*array.shape[:-2], 2, middle, -1) for array in (a, b, log_decay))
        early, late = _pairs_by_halves(*halves).unbind(-3)
    later = a[..., second, :] * log_decay[..., second, :].cumsum(dim=-2).exp()
    earlier = b[..., first, :] * _after(log_decay[..., first, :]).exp()
    top = torch.cat([early, early.new_zeros(*early.shape[:-1], seq - middle)], dim=-1)
    return torch.cat([top, torch.cat([later @ earlier.mT, late], dim=-1)], dim=-2)


def _after(log_decay: Tensor) -> Tensor:
    """Sums of what follows each token, its own not included."""
    none = torch.zeros_like(log_decay[..., :1, :])
    shifted = torch.cat([log_decay[..., 1:, :], none], dim=-2)
    return shifted.flip(-2).cumsum(dim=-2).flip(-2)


def _read(state: Tensor, asks: Tensor) -> Tensor:
    """``S.T @ q`` for each head."""
    return (asks[..., None, :] @ state)[..., 0, :]


def _gradients(
    d_out: Tensor, tokens: Tokens, state: Tensor, d_state: Tensor
) -> tuple[Tokens, Tensor]:
    """Gradients of what each token did and of the first state; that of q for a scaled q."""
    befores = [state]
    for t in range(tokens.q.shape[2]):
        befores.append(read_step_by_step(tokens.part(t, t + 1), befores[-1])[1])
    grads = tokens.each(torch.zeros_like)
    for t in reversed(range(tokens.q.shape[2])):
        q, k, v, d = (a[:, :, t] for a in (tokens.q, tokens.k, tokens.v, d_out))
        decay = tokens.log_decay[:, :, t, :, None].exp()
        decayed, after = decay * befores[t], befores[t + 1]
        grads.q[:, :, t] = _read(after.transpose(2, 3), d)
        d_state = d_state + q[..., :, None] * d[..., None, :]
        d_u, u = _read(d_state, k), v
        if tokens.beta is not None and grads.beta is not None:
            beta = tokens.beta[:, :, t]
            missed = v - _read(decayed, k)
            u = beta * missed
            grads.beta[:, :, t] = (d_u * missed).sum(dim=-1, keepdim=True)
        grads.k[:, :, t] = _read(d_state.transpose(2, 3), u)
        if tokens.beta is not None:
            d_u = beta * d_u
            grads.k[:, :, t] -= _read(decayed.transpose(2, 3), d_u)
            d_state = d_state - k[..., :, None] * d_u[..., None, :]
        grads.v[:, :, t] = d_u
        d_decay = (d_state * decayed).sum(dim=-1)  # (batch, heads, key_dim)
        one = tokens.log_decay.shape[3] == 1
        grads.log_decay[:, :, t] = d_decay.sum(dim=-1, keepdim=True) if one else d_decay
        d_state = decay * d_state
    return grads, d_state


def _given(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    log_decay: Tensor | None,
    beta: Tensor | None,
    state: Tensor | None,
    scale: float | None,
    keep: Tensor | None,
    normalize: bool,
) -> tuple[Tokens, Tensor]:
    """Check everything; return what the tokens do, and the first state."""
    check_flag("normalize", normalize)
    sizes = _check(q, k, v, log_decay, beta, state, keep, normalize)
    kind = wide(q).dtype
    if log_decay is None:
        log_decay = q.new_zeros(*q.shape[:3], 1, dtype=kind)
    elif log_decay.ndim == 3:
        log_decay = log_decay[..., None]
    beta = None if beta is None else beta[..., None].to(kind)
    if normalize:
        v = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)
    scaled = q.to(kind) * score_factor(scale, None, sizes["key_dim"])
    tokens = Tokens(scaled, k.to(kind), v.to(kind), log_decay.to(kind), beta)
    if keep is not None:
        tokens = tokens.each(lambda array: _kept(array, keep))
    if state is None:
        state = q.new_zeros(*q.shape[:2], sizes["key_dim"], v.shape[3], dtype=kind)
    return tokens, state.to(kind)


def _check(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    log_decay: Tensor | None,
    beta: Tensor | None,
    state: Tensor | None,
    keep: Tensor | None,
    normalize: bool,
) -> dict[str, int]:
    """Sizes by name; refuses what does not fit."""
    key, rows = "batch heads seq key_dim", "batch heads seq"
    given = {"q": (q, key), "k": (k, key), "v": (v, "batch heads seq v_head_dim")}
    if log_decay is not None:
        per_channel = len(getattr(log_decay, "shape", ())) == 4
        given["log_decay"] = (log_decay, key if per_channel else rows)
    if beta is not None:
        given["beta"] = (beta, rows)
    if state is not None:
        columns = "columns" if normalize else "v_head_dim"
        given["state"] = (state, f"batch heads key_dim {columns}")
    sizes = named_shapes(**given)
    for name, (array, _) in given.items():
        check_floating(name, array)
    kinds = {name: given[name][0].dtype for name in ("q", "k", "v")}
    if len(set(kinds.values())) > 1:
        got = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
        raise DTypeError(f"q, k, v must share one floating-point dtype, got {got}")
    if sizes["key_dim"] < 1:
        raise ShapeError(f"key_dim must be at least 1, got q of shape {tuple(q.shape)}")
    if normalize and beta is not None:
        raise ConfigError("normalize has no meaning with beta: the delta rule has no weights")
    if normalize and sizes.get("columns", sizes["v_head_dim"] + 1) != sizes["v_head_dim"] + 1:
        raise ShapeError(
            f"with normalize the state has v_head_dim + 1 = {sizes['v_head_dim'] + 1} columns, "
            f"got {sizes['columns']}"
        )
    if keep is not None:
        check_array("keep", keep)
        named_shapes(q=(q, key), keep=(keep, "batch seq"))
        if keep.dtype != torch.bool:
            raise DTypeError(f"keep must be boolean (False = padded), got {keep.dtype}")
    return sizes


def _kept(array: Tensor, keep: Tensor) -> Tensor:
    """Zeros for the padded tokens of (batch, heads, seq, dim)."""
    return torch.where(keep[:, None, :, None], array, 0)


def _answer(out: Tensor, state: Tensor, q: Tensor, normalize: bool, return_state: bool) -> Any:
    """Return the output in the queries' type, and the state if asked."""
    if normalize:
        total = out[..., -1:]
        out = torch.where(total == 0, 0, out[..., :-1] / torch.where(total == 0, 1, total))
    out = out.to(q.dtype)
    return (out, state) if return_state else out
