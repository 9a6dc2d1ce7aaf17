"""Layers of experts: a router, and MLPs of which each token takes a few."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import DecoderConfig, ExpertConfig, check_chosen
from mini_attn.config.experts import ROUTINGS
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.numpy._module import Module, check_floating, check_tokens, dtype_of
from mini_attn.numpy.attention.softmax import normalise
from mini_attn.numpy.layers._heads import opened
from mini_attn.numpy.layers.basic import MLP, GatedMLP, Linear, _activate
from mini_attn.shapes import DType, check_choice, check_count, check_number

__all__ = ["MixtureOfExperts", "clamped_swiglu", "route"]

Array = NDArray[Any]


def route(
    logits: Array, experts_per_token: int, *, routing: str, bias: Array | None = None
) -> tuple[Array, Array]:
    """Choose the experts that each token takes, and their weights.

    ``chosen = the experts_per_token largest logits;  weights = softmax(logits[chosen])``

    Parameters
    ----------
    logits : array (..., n_experts)
        How well each expert suits each token.
    experts_per_token : int
        Experts that a token takes.
    routing : {"softmax", "softmax_normalised", "softmax_of_chosen", "sigmoid_normalised"}
        As in `ExpertConfig`.
    bias : array (n_experts,) or None
        Added to what the choice compares, and to no weight; None adds nothing.

    Returns
    -------
    tuple of arrays (weights, chosen), each (..., experts_per_token)
        Weights in float32 or wider, and the numbers of the experts, the likeliest first.

    Raises
    ------
    ShapeError
        If there is no axis of experts, or the bias has not one number for each.
    DTypeError
        If the logits or the bias are not floating point.
    ConfigError
        If a token would take more experts than there are, or the routing is unknown.

    Notes
    -----
    ``n_experts`` exponentials a token. Of equal logits the lower number wins, in every run and
    on every device; published code leaves it to its library. NaN counts as the largest, so that
    a token with a NaN logit has NaN weights, and no other token has; a token whose logits are
    all ``-inf`` takes the first experts with weight 0. ``"softmax_normalised"`` and
    ``"softmax_of_chosen"`` are the same numbers up to rounding, as the sum over all experts
    cancels; the second also tells apart logits whose exponentials are both 0. The sigmoid of a
    logit doesn't depend on the other experts'; DeepSeek-V3 and MiniMax-M2 keep their experts
    equally busy by a bias that moves the choice, where others add a term to the loss.

    References
    ----------
    shazeer2017moe, section 2.1
    jiang2024mixtral, section 2.1
    deepseek2024v3, section 2.1.2

    Examples
    --------
    >>> import numpy as np
    >>> weights, chosen = route(np.log([[4.0, 1.0, 3.0]]), 2, routing="softmax_of_chosen")
    >>> weights.round(3), chosen
    (array([[0.571, 0.429]]), array([[0, 2]]))
    """
    check_floating("logits", logits)
    if not logits.ndim:
        raise ShapeError("logits must be (..., n_experts), got shape ()")
    check_chosen(logits.shape[-1], experts_per_token)
    check_choice("routing", routing, ROUTINGS)
    if bias is not None:
        check_floating("bias", bias)
        if bias.shape != logits.shape[-1:]:
            each = f"one number for each of {logits.shape[-1]} experts"
            raise ShapeError(f"bias must be {each}, got shape {bias.shape}")
    return _route(logits, experts_per_token, routing, bias)


def _route(
    logits: Array, experts_per_token: int, routing: str, bias: Array | None
) -> tuple[Array, Array]:
    """`route` without checks."""
    wide = logits.astype(np.float32) if logits.dtype == np.float16 else logits
    scores = _SCORES.get(routing, normalise)(wide)
    worth = scores if bias is None else scores + bias
    order = np.argsort(np.where(np.isnan(worth), -np.inf, -worth), axis=-1, kind="stable")
    chosen = order[..., :experts_per_token]
    weights = np.take_along_axis(scores, chosen, axis=-1)
    if routing == "softmax_of_chosen":
        weights = normalise(weights)
    elif routing != "softmax":
        total = weights.sum(axis=-1, keepdims=True)
        weights /= np.where(total == 0, 1, total)
    return weights, chosen


def _sigmoid(x: Array) -> Array:
    """Exact to the last digits also where it is tiny, and without overflow."""
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1, small) / (1 + small))


_SCORES = {"softmax_of_chosen": lambda logits: logits, "sigmoid_normalised": _sigmoid}


def clamped_swiglu(gate: Array, up: Array, *, alpha: float = 1.702, limit: float = 7.0) -> Array:
    """The gated unit of gpt-oss: bounded, and linear where the gate is open.

    ``min(gate, limit) * sigmoid(alpha * min(gate, limit)) * (clip(up, -limit, limit) + 1)``

    Parameters
    ----------
    gate, up : array (...)
        What the two products give.
    alpha : float
        Steepness of the sigmoid.
    limit : float
        Bound of both, above; of ``up`` below too.

    Returns
    -------
    array (...)
        Same shape and dtype.

    Raises
    ------
    ShapeError
        If the two differ in shape.
    DTypeError
        If they are not floating point of one dtype.
    ConfigError
        If a number is not above 0.

    Notes
    -----
    With ``alpha = 1.702`` the gate is close to a gelu. ``up + 1`` lets the gate pass where
    ``up`` is 0.

    References
    ----------
    openai2025gptoss, section 2.2
    hendrycks2016gelu, section 2

    Examples
    --------
    >>> import numpy as np
    >>> clamped_swiglu(np.array([1.0, 100.0]), np.array([0.0, 100.0])).round(4)
    array([ 0.8458, 55.9996])
    """
    for name, array in (("gate", gate), ("up", up)):
        check_floating(name, array)
    if gate.shape != up.shape:
        raise ShapeError(f"gate and up must have one shape, got {gate.shape} and {up.shape}")
    if gate.dtype != up.dtype:
        raise DTypeError(f"gate is {gate.dtype}, up is {up.dtype}")
    check_number("alpha", alpha, above=0)
    check_number("limit", limit, above=0)
    return _clamped_swiglu(gate, up, alpha, limit)


def _clamped_swiglu(gate: Array, up: Array, alpha: float, limit: float) -> Array:
    """`clamped_swiglu` without checks."""
    gate, up = np.minimum(gate, limit), np.clip(up, -limit, limit)
    sigmoid = 0.5 * (1 + np.tanh(0.5 * alpha * gate))  # no overflow
    return np.asarray((gate * sigmoid * (up + 1)).astype(up.dtype, copy=False))


class MixtureOfExperts(Module):
    """Gated MLPs of which a router gives each token a few.

    ``y = sum over chosen e of weights[e] * (activate(x @ gate[e].T) * (x @ up[e].T)) @ down[e].T``

    Parameters
    ----------
    d_model : int
        Width outside.
    config : ExpertConfig
        The experts' sizes and options, and how they are chosen.
    seed : int
        Seeds the weights: two layers of the same sizes and seed begin with equal weights.
    dtype : str or data type
        Data type or its name, as ``"float32"``.

    Raises
    ------
    ConfigError
        If a size is below 1 or the configuration is of another kind.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    ``2 * batch * seq * d_model * (n_experts + 3 * experts_per_token * d_ff)`` FLOPs, and the
    weights of the experts that any token takes are read once.

    Weights: ``router.weight`` (n_experts, d_model), ``gate_proj`` and ``up_proj``
    (n_experts, d_ff, d_model), ``down_proj`` (n_experts, d_model, d_ff), and where the
    configuration says so ``router.bias``, ``gate_proj_bias``, ``up_proj_bias`` and
    ``down_proj_bias``; of the expert that every token takes ``shared_expert``, as a `GatedMLP`'s,
    and ``shared_expert_gate`` (1, d_model). An expert multiplies all of its tokens at once, and
    their weighted sum is taken in float32 or wider, in the order of the experts' numbers.

    References
    ----------
    shazeer2017moe, section 2
    jiang2024mixtral, section 2.1

    Examples
    --------
    >>> import numpy as np
    >>> layer = MixtureOfExperts(4, ExpertConfig(n_experts=8, experts_per_token=2, d_ff=6))
    >>> layer(np.zeros((1, 3, 4), dtype="float32")).shape
    (1, 3, 4)
    """

    def __init__(
        self, d_model: int, config: ExpertConfig, *, seed: int = 0, dtype: DType = "float32"
    ) -> None:
        check_count("d_model", d_model)
        if not isinstance(config, ExpertConfig):
            raise ConfigError(f"config must be an ExpertConfig, got {config!r:.60}")
        self.config = config
        n_experts, d_ff = config.n_experts, config.d_ff
        self.router = Linear(d_model, n_experts, bias=config.router_bias, seed=seed, dtype=dtype)
        rng, kind = np.random.default_rng(seed + 1), dtype_of(dtype)

        def drawn(rows: int, columns: int) -> Array:
            bound = columns**-0.5
            return rng.uniform(-bound, bound, (n_experts, rows, columns)).astype(kind)

        self.gate_proj, self.up_proj = drawn(d_ff, d_model), drawn(d_ff, d_model)
        self.down_proj = drawn(d_model, d_ff)

        def bias(rows: int) -> Array | None:
            return np.zeros((n_experts, rows), kind) if config.bias else None

        self.gate_proj_bias, self.up_proj_bias = bias(d_ff), bias(d_ff)
        self.down_proj_bias = bias(d_model)
        if config.shared_d_ff:
            sizes: dict[str, Any] = {"bias": False, "dtype": dtype}
            self.shared_expert = GatedMLP(
                d_model, config.shared_d_ff, activation=config.activation, seed=seed + 2, **sizes
            )
        if config.shared_gate:
            self.shared_expert_gate = Linear(d_model, 1, seed=seed + 5, **sizes)

    def _sizes(self) -> dict[str, Any]:
        return {"d_model": self.down_proj.shape[1], **super()._sizes()}

    def __call__(self, x: Array) -> Array:
        """Map tokens (batch, seq, d_model) to the same shape, each by itself."""
        check_tokens("x", x, self.router.weight)
        return self._run(x)

    def _run(self, x: Array) -> Array:
        rows = x.reshape(-1, x.shape[-1])
        weights, chosen = self._choose(rows)
        out = np.zeros(rows.shape, weights.dtype)
        for expert in np.unique(chosen):
            token, place = np.nonzero(chosen == expert)  # no token takes an expert twice
            out[token] += weights[token, place, None] * self._answer(rows[token], expert)
        if self.config.shared_d_ff:
            out += self._shared(rows)
        return np.asarray(out.astype(x.dtype, copy=False).reshape(x.shape))

    def _shared(self, rows: Array) -> Array:
        """Return what the expert of all tokens gives, times its gate."""
        answer: Array = self.shared_expert._run(rows)
        if self.config.shared_gate:
            answer = opened(answer, self.shared_expert_gate._run(rows))
        return answer

    def _choose(self, rows: Array) -> tuple[Array, Array]:
        """Weights and numbers (rows, experts_per_token) of the experts that some tokens take."""
        weights, chosen = self._route(rows)
        return weights * self.config.routed_scale, chosen

    def _route(self, rows: Array) -> tuple[Array, Array]:
        """`_choose` before the weights have their factor."""
        config, router = self.config, self.router
        if config.routing == "sigmoid_normalised":  # the bias is none of the logits'
            logits = rows @ router.weight.T
            return _route(logits, config.experts_per_token, config.routing, router.bias)
        return _route(router._run(rows), config.experts_per_token, config.routing, None)

    def _answer(self, rows: Array, expert: int) -> Array:
        """One expert's answer (rows, d_model) to some tokens."""

        def product(x: Array, weight: Array, bias: Array | None) -> Array:
            y = x @ weight[expert].T
            return np.asarray(y if bias is None else y + bias[expert])

        gate = product(rows, self.gate_proj, self.gate_proj_bias)
        up = product(rows, self.up_proj, self.up_proj_bias)
        return product(gated(gate, up, self.config), self.down_proj, self.down_proj_bias)


def gated(gate: Array, up: Array, config: ExpertConfig) -> Array:
    """Return the gated values inside an expert, (rows, d_ff)."""
    if config.activation == "clamped_swiglu":
        return _clamped_swiglu(gate, up, config.swiglu_alpha, config.swiglu_limit)
    return np.asarray(_activate(gate, config.activation) * up)


def feed_forward(config: DecoderConfig, layer: int, seed: int, dtype: DType) -> Any:
    """Make what works on each token by itself: an MLP, a mixture of experts or nothing."""
    experts = config.layer_experts[layer]
    if experts is not None:
        return MixtureOfExperts(config.d_model, experts, seed=seed, dtype=dtype)
    if config.mlp == "none":
        return None
    return (MLP if config.mlp == "plain" else GatedMLP)(
        config.d_model,
        config.layer_d_ff[layer],
        activation=config.activation,
        bias=config.mlp_bias,
        seed=seed,
        dtype=dtype,
    )
