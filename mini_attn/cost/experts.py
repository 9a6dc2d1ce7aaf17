"""How many experts a batch of tokens wakes: their weights are what a step must read."""

from __future__ import annotations

from mini_attn.config import check_chosen
from mini_attn.shapes import check_count

__all__ = ["expected_experts", "expert_bounds"]


def _check(n_experts: int, experts_per_token: int, tokens: int) -> None:
    check_count("n_experts", n_experts)
    check_chosen(n_experts, experts_per_token)
    check_count("tokens", tokens)


def expected_experts(n_experts: int, experts_per_token: int, tokens: int) -> float:
    """Different experts that some tokens choose, on average, in one layer.

    ``n_experts * (1 - (1 - experts_per_token / n_experts) ** tokens)``

    Parameters
    ----------
    n_experts, experts_per_token : int
        Routed experts of the layer, and how many of them each token takes.
    tokens : int
        Tokens of the step, over all sequences.

    Returns
    -------
    float
        The mean if every token chooses evenly and on its own.

    Raises
    ------
    ConfigError
        If a count is below 1 or a token takes more experts than there are.

    Notes
    -----
    A token misses a given expert with probability ``1 - experts_per_token / n_experts``. Real
    routers favor some experts, so a real batch reads fewer; `expert_bounds` always holds.

    Examples
    --------
    >>> expected_experts(8, 2, 1), round(expected_experts(8, 2, 16), 2)
    (2.0, 7.92)
    """
    _check(n_experts, experts_per_token, tokens)
    # Written so that one token gives its whole number of experts exactly.
    missed = (n_experts - experts_per_token) * (1 - experts_per_token / n_experts) ** (tokens - 1)
    return n_experts - missed


def expert_bounds(n_experts: int, experts_per_token: int, tokens: int) -> tuple[int, int]:
    """Fewest and most different experts that some tokens can choose in one layer.

    ``experts_per_token, min(n_experts, experts_per_token * tokens)``

    Parameters
    ----------
    n_experts, experts_per_token : int
        Routed experts of the layer, and how many of them each token takes.
    tokens : int
        Tokens of the step, over all sequences.

    Returns
    -------
    least, most : int
        All tokens choose the same ones; no two choose the same one.

    Raises
    ------
    ConfigError
        If a count is below 1 or a token takes more experts than there are.

    Examples
    --------
    >>> expert_bounds(256, 8, 16)
    (8, 128)
    """
    _check(n_experts, experts_per_token, tokens)
    return experts_per_token, min(n_experts, experts_per_token * tokens)
