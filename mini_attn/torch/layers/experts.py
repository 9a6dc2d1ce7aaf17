"""Layers of experts: a router, and MLPs of which each token takes a few."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from mini_attn.config import DecoderConfig, ExpertConfig, check_chosen
from mini_attn.config.experts import ROUTINGS
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.shapes import DType, check_choice, check_count, check_number
from mini_attn.torch._module import (
    Module,
    check_floating,
    check_tokens,
    dtype_of,
    parameter,
    wide,
)
from mini_attn.torch.layers._heads import opened
from mini_attn.torch.layers.basic import MLP, GatedMLP, Linear, activate, linear

__all__ = ["MixtureOfExperts", "clamped_swiglu", "route"]

Product = Callable[[Tensor, Tensor, Tensor | None], Tensor]


def route(
    logits: Tensor, experts_per_token: int, *, routing: str, bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Choose the experts that each token takes, and their weights.

    ``chosen = the experts_per_token largest logits;  weights = softmax(logits[chosen])``

    Parameters
    ----------
    logits : tensor (..., n_experts)
        How well each expert suits each token.
    experts_per_token : int
        Experts that a token takes.
    routing : {"softmax", "softmax_normalised", "softmax_of_chosen", "sigmoid_normalised"}
        As in `ExpertConfig`.
    bias : tensor (n_experts,) or None
        Added to what the choice compares, and to no weight; None adds nothing.

    Returns
    -------
    tuple of tensors (weights, chosen), each (..., experts_per_token)
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

    PyTorch: gradients reach the logits through the weights; the choice has none.

    References
    ----------
    shazeer2017moe, section 2.1
    jiang2024mixtral, section 2.1
    deepseek2024v3, section 2.1.2

    Examples
    --------
    >>> import torch
    >>> logits = torch.tensor([[4.0, 1.0, 3.0]]).log()
    >>> weights, chosen = route(logits, 2, routing="softmax_of_chosen")
    >>> weights, chosen
    (tensor([[0.5714, 0.4286]]), tensor([[0, 2]]))
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
            raise ShapeError(f"bias must be {each}, got shape {tuple(bias.shape)}")
    return _route(logits, experts_per_token, routing, bias)


def _route(
    logits: Tensor, experts_per_token: int, routing: str, bias: Tensor | None
) -> tuple[Tensor, Tensor]:
    """`route` without checks."""
    scores = _SCORES.get(routing, _normalise)(wide(logits))
    worth = scores if bias is None else scores + bias
    # Not topk, which leaves it open which of two equal ones it gives; NaN comes first in both.
    order = torch.sort(worth.detach(), dim=-1, descending=True, stable=True).indices
    chosen = order[..., :experts_per_token]
    weights = scores.gather(-1, chosen)
    if routing == "softmax_of_chosen":
        weights = _normalise(weights)
    elif routing != "softmax":
        total = weights.sum(dim=-1, keepdim=True)
        weights = weights / total.masked_fill(total == 0, 1)
    return weights, chosen


def _normalise(scores: Tensor) -> Tensor:
    """Softmax of rows in float32 or wider; zeros for a row of -inf alone."""
    empty = torch.isneginf(scores).all(dim=-1, keepdim=True)
    return torch.softmax(scores.masked_fill(empty, 0), dim=-1).masked_fill(empty, 0)


_SCORES = {"softmax_of_chosen": lambda logits: logits, "sigmoid_normalised": torch.sigmoid}


def clamped_swiglu(gate: Tensor, up: Tensor, *, alpha: float = 1.702, limit: float = 7.0) -> Tensor:
    """The gated unit of gpt-oss: bounded, and linear where the gate is open.

    ``min(gate, limit) * sigmoid(alpha * min(gate, limit)) * (clip(up, -limit, limit) + 1)``

    Parameters
    ----------
    gate, up : tensor (...)
        What the two products give.
    alpha : float
        Steepness of the sigmoid.
    limit : float
        Bound of both, above; of ``up`` below too.

    Returns
    -------
    tensor (...)
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

    PyTorch: beyond a bound the gradient is 0.

    References
    ----------
    openai2025gptoss, section 2.2
    hendrycks2016gelu, section 2

    Examples
    --------
    >>> import torch
    >>> clamped_swiglu(torch.tensor([1.0, 100.0]), torch.tensor([0.0, 100.0]))
    tensor([ 0.8458, 55.9996])
    """
    for name, array in (("gate", gate), ("up", up)):
        check_floating(name, array)
    if gate.shape != up.shape:
        shapes = f"{tuple(gate.shape)} and {tuple(up.shape)}"
        raise ShapeError(f"gate and up must have one shape, got {shapes}")
    if gate.dtype != up.dtype:
        raise DTypeError(f"gate is {gate.dtype}, up is {up.dtype}")
    check_number("alpha", alpha, above=0)
    check_number("limit", limit, above=0)
    return _clamped_swiglu(gate, up, alpha, limit)


def _clamped_swiglu(gate: Tensor, up: Tensor, alpha: float, limit: float) -> Tensor:
    """`clamped_swiglu` without checks."""
    gate, up = gate.clamp(max=limit), up.clamp(min=-limit, max=limit)
    return gate * torch.sigmoid(alpha * gate) * (up + 1)


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
    device : torch.device, str or None
        Where the tensors lie; None means PyTorch's default.

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

    PyTorch: which experts have tokens is asked of the device once a layer. The compiled step
    does not ask: it gathers the chosen experts' weights where they are few, and else computes
    all experts for all of its tokens.

    References
    ----------
    shazeer2017moe, section 2
    jiang2024mixtral, section 2.1

    Examples
    --------
    >>> import torch
    >>> layer = MixtureOfExperts(4, ExpertConfig(n_experts=8, experts_per_token=2, d_ff=6))
    >>> layer(torch.zeros(1, 3, 4)).shape
    torch.Size([1, 3, 4])
    """

    def __init__(
        self,
        d_model: int,
        config: ExpertConfig,
        *,
        seed: int = 0,
        dtype: DType = "float32",
        device: Any = None,
    ) -> None:
        super().__init__()
        check_count("d_model", d_model)
        if not isinstance(config, ExpertConfig):
            raise ConfigError(f"config must be an ExpertConfig, got {config!r:.60}")
        self.config = config
        n_experts, d_ff = config.n_experts, config.d_ff
        kind: dict[str, Any] = {"dtype": dtype, "device": device}
        self.router = Linear(d_model, n_experts, bias=config.router_bias, seed=seed, **kind)
        rng = torch.Generator().manual_seed(seed + 1)

        def drawn(rows: int, columns: int) -> nn.Parameter:
            bound, made = columns**-0.5, torch.empty(n_experts, rows, columns)
            return parameter(made.uniform_(-bound, bound, generator=rng), dtype, device)

        def bias(rows: int) -> nn.Parameter | None:
            zeros = torch.zeros(n_experts, rows, dtype=dtype_of(dtype), device=device)
            return nn.Parameter(zeros) if config.bias else None

        self.gate_proj, self.up_proj = drawn(d_ff, d_model), drawn(d_ff, d_model)
        self.down_proj = drawn(d_model, d_ff)
        self.gate_proj_bias, self.up_proj_bias = bias(d_ff), bias(d_ff)
        self.down_proj_bias = bias(d_model)
        if config.shared_d_ff:
            sizes: dict[str, Any] = {"bias": False, **kind}
            self.shared_expert = GatedMLP(
                d_model, config.shared_d_ff, activation=config.activation, seed=seed + 2, **sizes
            )
        if config.shared_gate:
            self.shared_expert_gate = Linear(d_model, 1, seed=seed + 5, **sizes)

    def _sizes(self) -> dict[str, Any]:
        return {"d_model": self.down_proj.shape[1], **super()._sizes()}

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (batch, seq, d_model) to the same shape, each by itself."""
        check_tokens("x", x, self.router.weight)
        rows = x.reshape(-1, x.shape[-1])
        out = self._summed(rows, *self._choose(rows))
        return self._with_shared(rows, out).to(x.dtype).reshape(x.shape)

    def _with_shared(self, rows: Tensor, out: Tensor) -> Tensor:
        """Add what the expert of all tokens gives, times its gate."""
        if not self.config.shared_d_ff:
            return out
        answer = self.shared_expert(rows[None])[0]
        if self.config.shared_gate:
            answer = opened(answer, self.shared_expert_gate(rows[None])[0])
        return out + answer

    def _summed(self, rows: Tensor, weights: Tensor, chosen: Tensor, first: int = 0) -> Tensor:
        """The weighted sum over the experts that are here, whose numbers begin at `first`."""
        matrices: list[Any] = self._matrices()
        here = range(first, first + len(self.gate_proj))
        if torch.is_grad_enabled():  # then the gradient of a whole is made once, not by expert
            matrices = [whole if whole is None else whole.unbind() for whole in matrices]
        out = torch.zeros(rows.shape, dtype=weights.dtype, device=rows.device)
        for expert in sorted(set(chosen.flatten().tolist()).intersection(here)):
            token, place = (chosen == expert).nonzero(as_tuple=True)
            own: list[Any] = [
                whole if whole is None else whole[expert - first] for whole in matrices
            ]
            answer = weights[token, place, None] * self._answer(linear, rows[token], *own)
            out = out.index_add(0, token, answer)  # no token takes an expert twice
        return out

    def _choose(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Weights and numbers (rows, experts_per_token) of the experts that some tokens take."""
        weights, chosen = self._route(rows)
        return weights * self.config.routed_scale, chosen

    def _route(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """`_choose` before the weights have their factor."""
        config, router = self.config, self.router
        if config.routing == "sigmoid_normalised":  # the bias is none of the logits'
            logits = linear(rows, router.weight, None)
            return _route(logits, config.experts_per_token, config.routing, router.bias)
        logits = linear(rows, router.weight, router.bias)
        return _route(logits, config.experts_per_token, config.routing, None)

    def _matrices(self) -> list[Tensor | None]:
        """Weights and biases of all experts, in the order of `_answer`."""
        gate, up = (self.gate_proj, self.gate_proj_bias), (self.up_proj, self.up_proj_bias)
        return [*gate, *up, self.down_proj, self.down_proj_bias]

    def _answer(
        self,
        product: Product,
        x: Tensor,
        gate: Tensor,
        gate_bias: Tensor | None,
        up: Tensor,
        up_bias: Tensor | None,
        down: Tensor,
        down_bias: Tensor | None,
    ) -> Tensor:
        """Return what one expert answers, or several by a product for each."""
        inside = gated(product(x, gate, gate_bias), product(x, up, up_bias), self.config)
        return product(inside, down, down_bias)

    def _static_step(self, x: Tensor) -> Tensor:
        """`forward` for few tokens, unchecked and traceable: nothing depends on who is chosen."""
        rows = x.reshape(-1, x.shape[-1])
        weights, chosen = self._choose(rows)
        matrices: list[Any] = self._matrices()
        few = 3 * chosen.numel() < self.config.n_experts  # gathered is read, written and read
        if few:
            matrices = [whole if whole is None else whole[chosen] for whole in matrices]
        equation = "reoi,rei->reo" if few else "eoi,rei->reo"  # a row, an expert, out, in

        def product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
            y = torch.einsum(equation, weight, x)
            return y if bias is None else y + bias

        each = rows[:, None].expand(-1, matrices[0].shape[-3], -1)
        out = self._answer(product, each, *matrices)  # (rows, experts, d_model)
        if not few:
            out = out.take_along_dim(chosen[..., None], dim=1)
        out = self._with_shared(rows, (weights[..., None] * out).sum(dim=1))
        return out.to(x.dtype).reshape(x.shape)


def gated(gate: Tensor, up: Tensor, config: ExpertConfig) -> Tensor:
    """Return the gated values inside an expert, (..., d_ff)."""
    if config.activation == "clamped_swiglu":
        return _clamped_swiglu(gate, up, config.swiglu_alpha, config.swiglu_limit)
    return activate(gate, config.activation) * up


def feed_forward(config: DecoderConfig, layer: int, seed: int, **kind: Any) -> Any:
    """Make what works on each token by itself: an MLP, a mixture of experts or nothing."""
    experts = config.layer_experts[layer]
    if experts is not None:
        return MixtureOfExperts(config.d_model, experts, seed=seed, **kind)
    if config.mlp == "none":
        return None
    return (MLP if config.mlp == "plain" else GatedMLP)(
        config.d_model,
        config.layer_d_ff[layer],
        activation=config.activation,
        bias=config.mlp_bias,
        seed=seed,
        **kind,
    )
