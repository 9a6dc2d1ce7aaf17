"""What a layer of experts is made of."""

from __future__ import annotations

from dataclasses import dataclass

from mini_attn.errors import ConfigError
from mini_attn.shapes import check_choice, check_count, check_flag, check_number

__all__ = ["ExpertConfig", "check_chosen"]

ACTIVATIONS = ("gelu_tanh", "gelu", "silu", "relu", "clamped_swiglu")
ROUTINGS = ("softmax", "softmax_normalised", "softmax_of_chosen", "sigmoid_normalised")


@dataclass(frozen=True)
class ExpertConfig:
    """Sizes and options of a mixture of experts: gated MLPs of which each token takes a few.

    Parameters
    ----------
    n_experts, experts_per_token : int
        Experts of the layer, and how many of them a token takes.
    d_ff : int
        Inner width of one expert.
    routing : {"softmax", "softmax_normalised", "softmax_of_chosen", "sigmoid_normalised"}
        How the router's logits become weights: the softmax over all experts, of which the largest
        are kept as they are, or divided by their sum; or the largest logits, and their softmax;
        or the sigmoid of each logit, of which the largest are divided by their sum.
    activation : {"silu", "gelu_tanh", "gelu", "relu", "clamped_swiglu"}
        Non-linearity of the gates; the last is a gated unit of its own, see `clamped_swiglu`.
    bias, router_bias : bool
        Biases of the experts' products; of the router. With ``"sigmoid_normalised"`` the router's
        is added to the sigmoids where they choose, and leaves the weights (DeepSeek-V3).
    swiglu_alpha, swiglu_limit : float
        Steepness and bound of ``"clamped_swiglu"``; nothing else takes them.
    shared_d_ff : int
        Width of a gated MLP without biases that every token takes besides; 0 is none.
    shared_gate : bool
        Whether the sigmoid of a product of the token multiplies what that MLP gives.
    routed_scale : float
        Factor of the weights of the chosen experts.

    Raises
    ------
    ConfigError
        If a size is below 1, a token would take more experts than there are, or an option is out
        of range.

    Examples
    --------
    >>> ExpertConfig(n_experts=8, experts_per_token=2, d_ff=64).routing
    'softmax_of_chosen'
    """

    n_experts: int
    experts_per_token: int
    d_ff: int
    routing: str = "softmax_of_chosen"
    activation: str = "silu"
    bias: bool = False
    router_bias: bool = False
    swiglu_alpha: float = 1.702
    swiglu_limit: float = 7.0
    shared_d_ff: int = 0
    shared_gate: bool = False
    routed_scale: float = 1.0

    def __post_init__(self) -> None:
        for name in ("n_experts", "experts_per_token", "d_ff"):
            check_count(name, getattr(self, name))
        check_chosen(self.n_experts, self.experts_per_token)
        check_choice("routing", self.routing, ROUTINGS)
        check_choice("activation", self.activation, ACTIVATIONS)
        for name in ("bias", "router_bias", "shared_gate"):
            check_flag(name, getattr(self, name))
        self._check_shared()
        for name in ("swiglu_alpha", "swiglu_limit"):
            number = check_number(name, getattr(self, name), above=0)
            if self.activation != "clamped_swiglu" and number != getattr(ExpertConfig, name):
                raise ConfigError(
                    f"{name} = {number} changes nothing with activation={self.activation!r}: "
                    "'clamped_swiglu' alone reads it"
                )

    def _check_shared(self) -> None:
        """Refuse what would belong to an expert of all tokens that there is not."""
        check_count("shared_d_ff", self.shared_d_ff, least=0)
        check_number("routed_scale", self.routed_scale, above=0)
        if self.shared_gate and not self.shared_d_ff:
            raise ConfigError("shared_gate needs an expert that every token takes: shared_d_ff")
        if self.shared_d_ff and self.activation == "clamped_swiglu":
            raise ConfigError(
                "the expert that every token takes is a gated MLP, "
                f"got activation = {self.activation!r}"
            )


def check_chosen(n_experts: int, experts_per_token: int) -> None:
    """Refuse a choice of none, or of more experts than there are.

    Parameters
    ----------
    n_experts, experts_per_token : int
        Experts to choose from, and how many a token takes.

    Raises
    ------
    ConfigError
        If a token takes less than one expert or more than all.

    Examples
    --------
    >>> check_chosen(8, 2)
    """
    if check_count("experts_per_token", experts_per_token) > n_experts:
        raise ConfigError(
            f"a token cannot take experts_per_token = {experts_per_token} of {n_experts} experts"
        )
