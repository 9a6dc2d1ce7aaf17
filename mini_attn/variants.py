"""The registry of attention variants: data only, one entry each.

Everything that says what a variant keeps in its cache reads it here: the cost formulas, the
calculator, the comparison tables and the conformance tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from mini_attn.errors import ConfigError

__all__ = ["REGISTRY", "CacheField", "Variant", "variant"]


@dataclass(frozen=True)
class CacheField:
    """One array of the cache: the numbers it holds per token and layer.

    Parameters
    ----------
    name : str
        What is kept.
    factors : tuple of str
        Names of the sizes whose product is the count of numbers.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> CacheField("keys", ("n_kv_heads", "head_dim")).numbers(
    ...     SimpleNamespace(n_kv_heads=8, head_dim=128))
    1024
    """

    name: str
    factors: tuple[str, ...]

    def numbers(self, sizes: Any) -> int:
        """Numbers per token and layer, from an object with the named sizes."""
        return prod(int(getattr(sizes, factor)) for factor in self.factors)


@dataclass(frozen=True)
class Variant:
    """One way to share, compress or bound keys and values.

    Parameters
    ----------
    name, title : str
        Key of the registry, and the words for a reader.
    stem, class_name : str, str or None
        Module in each backend and the class in it; None while there is no implementation.
    cache : tuple of CacheField
        What a token leaves in each layer.
    length_rule : {"all", "window"}
        Whether a layer keeps all tokens or the last ``window``.
    options : tuple of (str, int)
        What the configuration fixes, for example ``("n_kv_heads", 1)``.
    reduces_to : tuple of (str, str)
        Other variants, and when this one equals them.
    references : tuple of str
        Keys of ``references.bib``.
    page : str
        Page and section that explain it.
    """

    name: str
    title: str
    stem: str
    class_name: str | None
    cache: tuple[CacheField, ...]
    length_rule: str
    reduces_to: tuple[tuple[str, str], ...]
    references: tuple[str, ...]
    page: str
    options: tuple[tuple[str, int], ...] = ()


_KEYS_AND_VALUES = (
    CacheField("keys", ("n_kv_heads", "head_dim")),
    CacheField("values", ("n_kv_heads", "v_head_dim")),
)

REGISTRY: dict[str, Variant] = {
    entry.name: entry
    for entry in (
        Variant(
            name="mha",
            title="Multi-head attention",
            stem="heads",
            class_name="MultiHeadAttention",
            cache=_KEYS_AND_VALUES,
            length_rule="all",
            reduces_to=(),
            references=("vaswani2017attention",),
            page="kv-cache#what-the-cache-costs",
        ),
        Variant(
            name="gqa",
            title="Grouped-query attention",
            stem="heads",
            class_name="GroupedQueryAttention",
            cache=_KEYS_AND_VALUES,
            length_rule="all",
            reduces_to=(("mha", "n_kv_heads = n_heads"), ("mqa", "n_kv_heads = 1")),
            references=("ainslie2023gqa",),
            page="kv-cache#what-a-serving-system-makes-of-it",
        ),
        Variant(
            name="mqa",
            title="Multi-query attention",
            stem="heads",
            class_name="MultiQueryAttention",
            cache=_KEYS_AND_VALUES,
            length_rule="all",
            reduces_to=(("mha", "n_heads = 1"),),
            references=("shazeer2019mqa",),
            page="kv-cache#what-a-serving-system-makes-of-it",
            options=(("n_kv_heads", 1),),
        ),
        Variant(
            name="mla",
            title="Multi-head latent attention",
            stem="latent",
            class_name=None,
            cache=(
                CacheField("latent", ("kv_lora_rank",)),
                CacheField("rope key", ("qk_rope_head_dim",)),
            ),
            length_rule="all",
            reduces_to=(),
            references=("deepseek2024v2",),
            page="kv-cache#what-a-serving-system-makes-of-it",
        ),
        Variant(
            name="sliding_window",
            title="Sliding-window attention",
            stem="heads",
            class_name=None,
            cache=_KEYS_AND_VALUES,
            length_rule="window",
            reduces_to=(("gqa", "window >= context"),),
            references=("beltagy2020longformer", "jiang2023mistral"),
            page="kv-cache#what-a-serving-system-makes-of-it",
        ),
    )
}


def variant(name: str) -> Variant:
    """The registry's entry for a name.

    Parameters
    ----------
    name : str
        For example ``"gqa"``.

    Returns
    -------
    Variant
        The entry.

    Raises
    ------
    ConfigError
        If there is no such variant.

    Examples
    --------
    >>> variant("mqa").title
    'Multi-query attention'
    """
    if name not in REGISTRY:
        raise ConfigError(f"variant must be one of {', '.join(REGISTRY)}, got {name!r}")
    return REGISTRY[name]
