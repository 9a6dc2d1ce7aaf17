"""What a layer is made of that keeps a state instead of keys and values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from mini_attn.errors import ConfigError
from mini_attn.shapes import (
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_positive,
)

__all__ = ["LinearAttentionConfig", "lightning_decay"]


class Kind(NamedTuple):
    """What makes a kind: how its state forgets and is written, and how its output is gated."""

    decay: str  # "constant", "head" or "channel": of what there is one, and from where
    delta: bool  # whether a value replaces what stands under its key
    gate: str  # of the output
    conv_kernel: int  # as usual; 1 is no convolution
    shares_keys: bool  # whether several heads may have one query and key
    norm_over: str = "head"
    scaled: bool = True  # whether what is read is divided by the root of a key's size


KINDS = {
    "lightning": Kind("constant", False, "sigmoid", 1, False, scaled=False),
    "gated_delta": Kind("head", True, "silu", 4, True),
    "kimi_delta": Kind("channel", True, "sigmoid", 4, False),
    "mamba2": Kind("head", False, "silu", 4, True, norm_over="group", scaled=False),
}


def lightning_decay(n_heads: int, layer: int = 0, n_layers: int | None = None) -> tuple[float, ...]:
    """Say by how much a token lowers the logarithm of each head's state, in lightning attention.

    ``2 ** (-8 * (h + 1) / n_heads) * (1 - layer / (n_layers - 1))``, and next to nothing more

    Parameters
    ----------
    n_heads : int
        Heads.
    layer : int
        The layer, counted from 0: the later, the less it forgets (MiniMax-01).
    n_layers : int or None
        Layers of the model; None leaves the second factor out.

    Returns
    -------
    tuple of float
        One number for each head.

    References
    ----------
    qin2024lightning

    Examples
    --------
    >>> lightning_decay(4)
    (0.25, 0.0625, 0.015625, 0.00390625)
    """
    share = 1.0 if n_layers is None else 1 - layer / (n_layers - 1 + 1e-5) + 1e-5
    return tuple(2 ** (-8 * (head + 1) / n_heads) * share for head in range(n_heads))


@dataclass(frozen=True)
class LinearAttentionConfig:
    """Sizes and options of one layer of linear attention, whose state doesn't grow.

    Parameters
    ----------
    d_model : int
        Width of the residual stream.
    n_heads : int
        Heads; each keeps one matrix.
    head_dim : int
        Size of a query and of a key (Mamba-2's state size).
    kind : {"lightning", "gated_delta", "kimi_delta", "mamba2"}
        How the state forgets and is written: a constant decay for each head; a decay for each
        head and token and the delta rule; a decay for each channel of a key and the delta rule;
        a step for each head and token, by which the state decays and the value counts.
    v_head_dim : int or None
        Size of a value (Mamba-2's head size); None means ``head_dim``.
    n_key_heads : int or None
        Queries and keys, each for as many heads in turn; None means ``n_heads``. With
        ``"gated_delta"`` and ``"mamba2"``, which calls them groups.
    conv_kernel : int or None
        Tokens that the short convolution over queries, keys and values looks at, the token itself
        included; 1 leaves it out, as ``"lightning"`` does. None means 4 where there is one.
    conv_bias : bool
        Whether the convolution has a bias.
    decay : tuple of float or None
        With ``"lightning"``, for each head how much the logarithm of its state falls by a token;
        None means ``2 ** (-8 * (h + 1) / n_heads)``.
    negative_eigenvalues : bool
        With the delta rule, whether a value may replace up to twice what stands under its key
        (OLMo Hybrid).
    gate_rank : int or None
        With ``"kimi_delta"``, the width through which gates and decays are made; None means
        ``head_dim``.
    norm_over : {"head", "group", "width"} or None
        What the norm of the output takes one root mean square over: a head, with one gain for all
        of them; the heads that share a key; all heads. None means a head, with ``"mamba2"``
        a group.
    bias, out_bias : bool
        Biases of the projections into the layer; of the output projection.
    scale : float or None
        Factor of what is read; None means ``head_dim ** -0.5`` with the delta rule and else 1.
    eps : float
        Added to the mean square in the norm of the output.

    Raises
    ------
    ConfigError
        If a size is below 1, heads do not divide, or an option is out of range or has no meaning
        for the kind.

    References
    ----------
    qin2024lightning
    yang2024gateddelta
    kimi2025linear
    dao2024mamba2

    Examples
    --------
    >>> config = LinearAttentionConfig(64, n_heads=4, head_dim=16, kind="gated_delta")
    >>> config.conv_kernel, config.n_key_heads, config.variant
    (4, 4, 'gated_delta')
    """

    d_model: int
    n_heads: int
    head_dim: int
    kind: str
    # None may be given and is never read: it becomes the number that it stands for.
    v_head_dim: int = None  # type: ignore[assignment]
    n_key_heads: int = None  # type: ignore[assignment]
    conv_kernel: int = None  # type: ignore[assignment]
    conv_bias: bool = False
    decay: tuple[float, ...] = None  # type: ignore[assignment]
    negative_eigenvalues: bool = False
    gate_rank: int | None = None
    norm_over: str = None  # type: ignore[assignment]
    bias: bool = False
    out_bias: bool = False
    scale: float | None = None
    eps: float = 1e-6

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, tuple(KINDS))
        for name in ("d_model", "n_heads", "head_dim"):
            check_count(name, getattr(self, name))
        defaults = {
            "v_head_dim": self.head_dim,
            "n_key_heads": self.n_heads,
            "conv_kernel": self.rule.conv_kernel,
            "norm_over": self.rule.norm_over,
            "scale": self.head_dim**-0.5 if self.rule.scaled else 1.0,
        }
        for name, default in defaults.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, default)
        for name in ("v_head_dim", "n_key_heads", "conv_kernel"):
            check_count(name, getattr(self, name))
        for name in ("conv_bias", "negative_eigenvalues", "bias", "out_bias"):
            check_flag(name, getattr(self, name))
        check_choice("norm_over", self.norm_over, ("head", "group", "width"))
        check_positive("scale", self.scale)
        check_number("eps", self.eps, above=0)
        self._check_heads()
        self._check_kind()

    def _check_heads(self) -> None:
        """Refuse queries and keys that heads can't share."""
        if self.n_heads % self.n_key_heads:
            raise ConfigError(
                f"n_key_heads = {self.n_key_heads} must divide n_heads = {self.n_heads}: each "
                "query and key serves as many heads"
            )
        if self.n_key_heads != self.n_heads and not self.rule.shares_keys:
            raise ConfigError(
                f"in {self.kind} each head has a query and key of its own, got n_heads = "
                f"{self.n_heads} and n_key_heads = {self.n_key_heads}"
            )

    def _check_kind(self) -> None:
        """Refuse options that the kind does not have, and fill in its own."""
        kept, channel = self.rule.decay == "constant", self.rule.decay == "channel"
        if kept and self.conv_kernel > 1:
            raise ConfigError(f"conv_kernel has no meaning in {self.kind}, got {self.conv_kernel}")
        has = {
            "conv_bias": self.conv_kernel > 1,
            "decay": kept,
            "negative_eigenvalues": self.rule.delta,
            "gate_rank": channel,
        }
        for name, known in has.items():
            if getattr(self, name) and not known:
                raise ConfigError(
                    f"{name} has no meaning in {self.kind} with conv_kernel = {self.conv_kernel}"
                )
        if channel and self.gate_rank is None:
            object.__setattr__(self, "gate_rank", self.head_dim)
        if channel:
            check_count("gate_rank", self.gate_rank)
        if kept:
            rates: Any = self.decay or lightning_decay(self.n_heads)
            rates = tuple(check_number("decay", rate) for rate in rates)
            if len(rates) != self.n_heads or min(rates) < 0:
                raise ConfigError(
                    f"decay must be a number of 0 or more for each of {self.n_heads} heads, "
                    f"got {rates!s:.80}"
                )
            object.__setattr__(self, "decay", rates)

    @property
    def rule(self) -> Kind:
        """What makes the kind."""
        return KINDS[self.kind]

    @property
    def group_size(self) -> int:
        """Heads that share one query and key."""
        return self.n_heads // self.n_key_heads

    @property
    def key_width(self) -> int:
        """Numbers of a token's queries, and of its keys."""
        return self.n_key_heads * self.head_dim

    @property
    def value_width(self) -> int:
        """Numbers of a token's values."""
        return self.n_heads * self.v_head_dim

    @property
    def variant(self) -> str:
        """Name of the registry's entry that these options make."""
        return self.kind
