"""Which keys stay in a cache that has room for some."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mini_attn.errors import ConfigError
from mini_attn.shapes import check_choice, check_count

__all__ = ["KeepHeavyHitters", "KeepObserved", "KeepRecent", "check_policy"]


@dataclass(frozen=True)
class KeepRecent:
    """The newest tokens stay, and the first ones of the text if asked.

    Parameters
    ----------
    sink_tokens : int
        First positions that stay.

    Raises
    ------
    ConfigError
        If the number is negative.

    References
    ----------
    xiao2023streaming, section 3.2

    Examples
    --------
    >>> KeepRecent(sink_tokens=4).reserved
    4
    """

    sink_tokens: int = 0

    def __post_init__(self) -> None:
        check_count("sink_tokens", self.sink_tokens, least=0)

    @property
    def recent(self) -> int:
        """Newest tokens that stay whatever their score; here a score says how new a token is."""
        return 0

    @property
    def reserved(self) -> int:
        """Slots of keys that stay whatever their score."""
        return self.sink_tokens

    @property
    def watches(self) -> bool:
        """Return whether the cache must be told the weights of each step."""
        return False


@dataclass(frozen=True)
class KeepHeavyHitters:
    """The keys stay that have got the largest weights, summed over all queries so far.

    Parameters
    ----------
    recent : int
        Newest tokens that stay whatever they got.
    sink_tokens : int
        First positions that stay.

    Raises
    ------
    ConfigError
        If a number is negative.

    References
    ----------
    zhang2023h2o, algorithm 1

    Examples
    --------
    >>> KeepHeavyHitters(recent=8).reserved
    8
    """

    recent: int
    sink_tokens: int = 0

    def __post_init__(self) -> None:
        check_count("recent", self.recent, least=0)
        check_count("sink_tokens", self.sink_tokens, least=0)

    @property
    def reserved(self) -> int:
        """Slots of keys that stay whatever their score."""
        return self.recent + self.sink_tokens

    @property
    def watches(self) -> bool:
        """Return whether the cache must be told the weights of each step."""
        return True


@dataclass(frozen=True)
class KeepObserved:
    """Of a prompt the keys stay that its last queries look at; what comes later stays.

    Parameters
    ----------
    observe : int
        Last tokens of the prompt, whose queries decide; they stay themselves.
    kernel : int
        Neighboring keys whose weights are pooled, an odd number.
    pooling : {"max", "mean"}
        How they are pooled.
    sink_tokens : int
        First positions that stay.

    Raises
    ------
    ConfigError
        If a number is out of range or the pooling unknown.

    References
    ----------
    li2024snapkv, section 4

    Examples
    --------
    >>> KeepObserved(observe=16).recent
    16
    """

    observe: int
    kernel: int = 5
    pooling: str = "max"
    sink_tokens: int = 0

    def __post_init__(self) -> None:
        check_count("observe", self.observe)
        if check_count("kernel", self.kernel) % 2 == 0:
            raise ConfigError(
                f"kernel must be odd, so that a key stands in its middle, got {self.kernel}"
            )
        check_choice("pooling", self.pooling, ("max", "mean"))
        check_count("sink_tokens", self.sink_tokens, least=0)

    @property
    def recent(self) -> int:
        """Newest tokens that stay whatever their score."""
        return self.observe

    @property
    def reserved(self) -> int:
        """Slots of keys that stay whatever their score."""
        return self.observe + self.sink_tokens

    @property
    def watches(self) -> bool:
        """Return whether the cache must be told the weights of each step."""
        return True


def check_policy(policy: Any, budget: int) -> Any:
    """The policy, if it is one and its reserved keys leave the budget something to decide.

    Parameters
    ----------
    policy : KeepRecent, KeepHeavyHitters or KeepObserved
        Which keys stay.
    budget : int
        Keys that stay.

    Returns
    -------
    KeepRecent, KeepHeavyHitters or KeepObserved
        The policy.

    Raises
    ------
    ConfigError
        If it is none, or the budget is below 1 or smaller than what is reserved.

    Examples
    --------
    >>> check_policy(KeepRecent(), 8)
    KeepRecent(sink_tokens=0)
    """
    if not isinstance(policy, KeepRecent | KeepHeavyHitters | KeepObserved):
        raise ConfigError(
            "policy must be KeepRecent, KeepHeavyHitters or KeepObserved of mini_attn.config, "
            f"got {policy!r:.60}"
        )
    check_count("budget", budget)
    least = policy.reserved + (0 if policy.watches else 1)
    if budget < least:
        raise ConfigError(
            f"budget = {budget} keys is less than the {least} that {policy} keeps in any case"
        )
    return policy
