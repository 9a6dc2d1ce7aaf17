"""The registry of attention variants: data only, one entry each.

Whoever has to know something of a variant reads it here: the cost formulas, published models,
the calculator, the comparison tables and the conformance tests. Classes are named by their path
and looked up when they are asked for, so that an entry may name what comes later or from outside.
"""

from __future__ import annotations

import importlib
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from mini_attn._variant_fields import CacheField, Reduction, Size
from mini_attn.errors import ConfigError

__all__ = [
    "COUNTED",
    "KINDS",
    "REGISTRY",
    "CacheField",
    "Reduction",
    "Size",
    "Variant",
    "optional_sizes",
    "variant",
]


@dataclass(frozen=True)
class Variant:
    """One way to keep keys and values.

    Parameters
    ----------
    name, title : str
        Key of the registry, and the words for a reader.
    stem, class_name : str
        Module in each backend, behind its room, and the class in it. A stem with ``{backend}``
        in it is the path of a module outside the package.
    config_class : str
        The configuration's class, in `mini_attn.config` or with the path of its module; empty
        where only the costs are known.
    sizes : tuple of str
        The sizes that its configuration takes beside ``d_model`` and ``n_heads``.
    cache : tuple of CacheField
        What a token leaves in each layer, in the order in which the cache takes it.
    length_rule : {"all", "window", "state"}
        Whether a layer keeps all tokens, the last ``window``, or a state that they write into.
    reduces_to : tuple of Reduction
        Other variants, and when this one equals them.
    references : tuple of str
        Keys of ``references.bib``.
    page : str
        Page and section that explain it.
    fixed : tuple of (str, int or str)
        Sizes that the variant fixes, to a number or to another size.
    cache_class : str
        Module in each backend and the class in it that a layer caches with; with
        ``{backend}`` in it a path outside the package.
    cost : str
        Path of the class that counts FLOPs, parameters and numbers moved of one layer, with the
        methods of `mini_attn.cost.heads.HeadsCost`.
    forms : tuple of str
        Names of the forms among which a pass may choose; empty where there is one.
    step_form : str or None
        The form of a cached step, where there are several.
    short : str
        A few words for a list, with sizes of a model in braces; empty means ``title``.
    compared : tuple of (str, int)
        Sizes of its own in the table that compares variants at one model's shape.
    in_comparison : bool
        Whether that table has it.
    choice : tuple of str
        Those of ``sizes`` that say which keys a token reads, and on which no cache depends.
    group_chooses : bool
        Whether the query heads of a group choose together what they read.
    options : tuple of (str, str)
        What its configurations say beside their sizes, where one class has several kinds.
    asked : tuple of Size
        Words for those sizes of its cache that not every variant has.

    Examples
    --------
    >>> REGISTRY["mqa"].configure({"d_model": 8, "n_heads": 4, "head_dim": 2}).n_kv_heads
    1
    """

    name: str
    title: str
    stem: str
    class_name: str
    config_class: str
    sizes: tuple[str, ...]
    cache: tuple[CacheField, ...]
    length_rule: str
    reduces_to: tuple[Reduction, ...]
    references: tuple[str, ...]
    page: str
    fixed: tuple[tuple[str, int | str], ...] = ()
    cache_class: str = "caches.cache.KVCache"
    cost: str = "mini_attn.cost.heads.HeadsCost"
    forms: tuple[str, ...] = ()
    step_form: str | None = None
    short: str = ""
    compared: tuple[tuple[str, int], ...] = ()
    in_comparison: bool = True
    choice: tuple[str, ...] = ()
    group_chooses: bool = False
    options: tuple[tuple[str, str], ...] = ()
    asked: tuple[Size, ...] = ()

    def fix(self, sizes: Mapping[str, Any]) -> dict[str, Any]:
        """The sizes that the variant fixes, given the others."""
        return {
            name: sizes[value] if isinstance(value, str) else value for name, value in self.fixed
        }

    def configure(self, sizes: Mapping[str, Any], **options: Any) -> Any:
        """A configuration of this variant, from sizes by name; those of others are left out."""
        kind = self.config_type()
        taken = {"d_model", "n_heads", *self.sizes} & sizes.keys()
        known = {field.name for field in fields(kind)}
        fixed = {name: value for name, value in self.fix(sizes).items() if name in known}
        return kind(**{name: sizes[name] for name in taken} | fixed | dict(self.options) | options)

    def config_type(self) -> Any:
        """The class of its configurations, imported now."""
        if not self.config_class:
            raise ConfigError(
                f"{self.name} has costs alone: no layer here is made for it, so leave it to "
                "mini_attn.cost"
            )
        inside = "." not in self.config_class
        return _named(f"mini_attn.config.{self.config_class}" if inside else self.config_class)

    def layer_class(self, backend: str) -> Any:
        """The class in ``"numpy"`` or ``"torch"``, imported now."""
        return _in_backend(f"{self.stem}.{self.class_name}", backend)

    def cache_type(self, backend: str) -> Any:
        """The class of its caches in ``"numpy"`` or ``"torch"``, imported now."""
        return _in_backend(self.cache_class, backend)

    def costs(self) -> Any:
        """Import what counts its FLOPs, parameters and numbers moved."""
        return _named(self.cost)()

    @property
    def shares_layers(self) -> bool:
        """Return whether a layer may read another's keys and values, which only heads have."""
        return self.config_class == "AttentionConfig"

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of all sizes that its cache depends on, each once."""
        named = ((*field.factors, field.per, field.last) for field in self.cache)
        return tuple(dict.fromkeys(name for names in named for name in names if name))

    @property
    def cache_sizes(self) -> tuple[Size, ...]:
        """The sizes of its cache that not every variant has; a name without words is its own."""
        words = {size.name: size for size in self.asked}
        window = ("window",) if self.length_rule == "window" else ()
        own = [name for name in (*self.factors, *window) if name not in ("n_heads", *_SHARED)]
        return tuple(words.get(name, Size(name, name)) for name in own)


def _named(path: str) -> Any:
    """Import what a dotted path names."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _in_backend(path: str, backend: str) -> Any:
    """Import a path of one backend, or from outside where it says ``{backend}``."""
    outside = "{backend}" in path
    return _named((path if outside else f"mini_attn.{{backend}}.{path}").format(backend=backend))


_WINDOW = Size("window", "Window, in tokens", most=2**20)
_INDEX_KEY = Size(
    "index_head_dim",
    "Index key size",
    word="index key",
    why="the key by which an indexer chooses, shared by its heads",
)
_SPAN = Size("compress", "Span, in tokens")
_SHARED = ("n_kv_heads", "head_dim", "v_head_dim")
_KEYS_AND_VALUES = (
    CacheField("keys", ("n_kv_heads", "head_dim")),
    CacheField("values", ("n_kv_heads", "v_head_dim")),
)


def _waiting(to: str, width: str, series: int) -> tuple[CacheField, ...]:
    """Name what tokens say to entries that aren't complete."""
    kind: dict[str, Any] = {"last": "compress", "series": series}
    names = (f"waiting {to}values", f"waiting {to}gates")
    return tuple(CacheField(name, ("n_kv_heads", width), **kind) for name in names)


_LATENT_SIZES = (
    "kv_lora_rank",
    "q_lora_rank",
    "qk_nope_head_dim",
    "qk_rope_head_dim",
    "v_head_dim",
    "rope",
)
_LATENTS = (
    CacheField("latent", ("kv_lora_rank",)),
    CacheField("rope key", ("qk_rope_head_dim",)),
)
_LATENT_WORDS = (
    Size(
        "kv_lora_rank",
        "Latent rank",
        word="latent",
        why="one compressed vector serves all heads as key and value",
        most=8192,
    ),
    Size(
        "qk_rope_head_dim",
        "RoPE key size",
        word="RoPE key",
        why="the part of the key that carries the position, shared by all heads",
    ),
)
_ENTRIES = ("head_dim", "window", "compress", "q_lora_rank", "o_groups", "o_lora_rank")
_RECENT = (
    CacheField("keys", ("n_kv_heads", "head_dim"), last="window"),
    CacheField("entries", ("n_kv_heads", "head_dim"), per="compress"),
)
_COMPRESSED: dict[str, Any] = {
    "stem": "layers.compressed",
    "class_name": "CompressedAttention",
    "config_class": "CompressedConfig",
    "length_rule": "all",
    "reduces_to": (),
    "references": ("deepseek2026v4",),
    "page": "shared-layers#entries-that-stand-for-several-tokens",
    "fixed": (("n_kv_heads", 1), ("v_head_dim", "head_dim")),
    "cache_class": "caches.cache_compressed.CompressedCache",
    "cost": "mini_attn.cost.compressed.CompressedCost",
    "in_comparison": False,
}

_MATRICES = CacheField("state", ("n_heads", "head_dim", "v_head_dim"), once=True, wide=True)
_CONVOLVED: dict[str, Any] = {"last": "conv_kernel", "less": 1}
_TAILS = (
    _MATRICES,
    CacheField("query tail", ("n_key_heads", "head_dim"), **_CONVOLVED),
    CacheField("key tail", ("n_key_heads", "head_dim"), **_CONVOLVED),
    CacheField("value tail", ("n_heads", "v_head_dim"), **_CONVOLVED),
)
_OWN_TAILS = (
    _MATRICES,
    CacheField("query tail", ("n_heads", "head_dim"), **_CONVOLVED),
    CacheField("key tail", ("n_heads", "head_dim"), **_CONVOLVED),
    CacheField("value tail", ("n_heads", "v_head_dim"), **_CONVOLVED),
)
_KEY_HEADS = Size("n_key_heads", "Key heads", most=512)
_KERNEL = Size("conv_kernel", "Convolution, in tokens", most=64)
_LINEAR: dict[str, Any] = {
    "stem": "layers.linear",
    "class_name": "LinearAttention",
    "config_class": "LinearAttentionConfig",
    "length_rule": "state",
    "reduces_to": (),
    "page": "state#the-family",
    "cache_class": "caches.cache_state.StateCache",
    "cost": "mini_attn.cost.linear.LinearCost",
    "in_comparison": False,
}

_COUNTED: dict[str, Any] = {
    **dict.fromkeys(("stem", "class_name", "config_class", "cache_class"), ""),
    "length_rule": "all",
    "reduces_to": (),
    "in_comparison": False,
}

REGISTRY: dict[str, Variant] = {
    entry.name: entry
    for entry in (
        Variant(
            name="mha",
            title="Multi-head attention",
            stem="layers.heads",
            class_name="MultiHeadAttention",
            config_class="AttentionConfig",
            sizes=_SHARED,
            fixed=(("n_kv_heads", "n_heads"),),
            cache=_KEYS_AND_VALUES,
            length_rule="all",
            reduces_to=(),
            references=("vaswani2017attention",),
            page="multihead#from-one-head-to-many",
            short="Multi-head",
        ),
        Variant(
            name="gqa",
            title="Grouped-query attention",
            stem="layers.heads",
            class_name="GroupedQueryAttention",
            config_class="AttentionConfig",
            sizes=_SHARED,
            cache=_KEYS_AND_VALUES,
            length_rule="all",
            reduces_to=(
                Reduction("mha", "n_kv_heads", "n_heads"),
                Reduction("mqa", "n_kv_heads", 1),
            ),
            references=("ainslie2023gqa",),
            page="mqa-gqa#groups-between-the-ends",
            short="Grouped, {n_kv_heads} KV",
        ),
        Variant(
            name="mqa",
            title="Multi-query attention",
            stem="layers.heads",
            class_name="MultiQueryAttention",
            config_class="AttentionConfig",
            sizes=_SHARED,
            fixed=(("n_kv_heads", 1),),
            cache=_KEYS_AND_VALUES,
            length_rule="all",
            reduces_to=(Reduction("mha", "n_heads", 1),),
            references=("shazeer2019mqa",),
            page="mqa-gqa#one-head-for-all-multi-query-attention",
            short="Multi-query",
        ),
        Variant(
            name="mla",
            title="Multi-head latent attention",
            stem="layers.latent",
            class_name="MultiHeadLatentAttention",
            config_class="LatentConfig",
            sizes=_LATENT_SIZES,
            cache=_LATENTS,
            length_rule="all",
            reduces_to=(),
            references=("deepseek2024v2",),
            page="mla#keys-and-values-from-a-latent",
            # A published configuration counts a key/value head for each head.
            fixed=(("n_kv_heads", "n_heads"),),
            cache_class="caches.cache_latent.LatentCache",
            cost="mini_attn.cost.latent.LatentCost",
            forms=("expanded", "absorbed", "merged"),
            step_form="absorbed",
            short="Latent, {kv_lora_rank} + {qk_rope_head_dim}",
            # The sizes of DeepSeek-V2's heads and latent, with queries projected directly.
            compared=(
                ("head_dim", 192),
                ("v_head_dim", 128),
                ("qk_nope_head_dim", 128),
                ("qk_rope_head_dim", 64),
                ("kv_lora_rank", 512),
            ),
            asked=_LATENT_WORDS,
        ),
        Variant(
            name="sliding_window",
            title="Sliding-window attention",
            stem="layers.heads",
            class_name="SlidingWindowAttention",
            config_class="AttentionConfig",
            sizes=(*_SHARED, "window", "sink_tokens"),
            cache=_KEYS_AND_VALUES,
            length_rule="window",
            reduces_to=(Reduction("gqa", "window", "seq"),),
            references=("beltagy2020longformer", "jiang2023mistral"),
            page="sliding-window#the-last-w-keys",
            cache_class="caches.cache_ring.SlidingWindowCache",
            short="Window, {window:,}",
            compared=(("window", 4096),),
            asked=(_WINDOW,),
        ),
        Variant(
            name="indexed",
            title="Attention to indexed keys",
            stem="layers.indexed",
            class_name="IndexedAttention",
            config_class="IndexedConfig",
            sizes=(*_SHARED, "index_n_heads", "index_head_dim", "index_topk"),
            cache=(*_KEYS_AND_VALUES, CacheField("index keys", ("index_head_dim",))),
            length_rule="all",
            reduces_to=(Reduction("gqa", "index_topk", "seq"),),
            references=("deepseek2025v32",),
            page="fewer-keys#dsa-an-indexer-selects-tokens",
            cache_class="caches.cache_indexed.IndexedCache",
            cost="mini_attn.cost.indexed.IndexedCost",
            short="Indexed, {index_topk:,}",
            # The sizes of DeepSeek-V3.2's indexer.
            compared=(("index_n_heads", 64), ("index_head_dim", 128), ("index_topk", 2048)),
            choice=("index_n_heads", "index_topk"),
            asked=(_INDEX_KEY,),
        ),
        Variant(
            name="nsa",
            title="Native sparse attention",
            stem="layers.nsa",
            class_name="NativeSparseAttention",
            config_class="NativeSparseConfig",
            sizes=(*_SHARED, "block_size", "n_blocks", "window"),
            cache=(
                *_KEYS_AND_VALUES,
                CacheField("mean keys", ("n_kv_heads", "head_dim"), per="block_size"),
                CacheField("mean values", ("n_kv_heads", "v_head_dim"), per="block_size"),
            ),
            length_rule="all",
            reduces_to=(),
            references=("yuan2025nsa",),
            page="fewer-keys#query-aware-selection-quest-nsa-dsa",
            cache_class="caches.cache_nsa.NativeSparseCache",
            cost="mini_attn.cost.nsa.NativeSparseCost",
            short="Sparse, {n_blocks} × {block_size}",
            # The sizes of the paper's model.
            compared=(("block_size", 64), ("n_blocks", 16), ("window", 512)),
            choice=("n_blocks", "window"),
            asked=(Size("block_size", "Block, in tokens"),),
            group_chooses=True,
        ),
        Variant(
            name="hca",
            title="Heavily compressed attention",
            sizes=_ENTRIES,
            cache=(*_RECENT, *_waiting("", "head_dim", 1)),
            compared=(("compress", 128),),
            asked=(_WINDOW, _SPAN),
            **_COMPRESSED,
        ),
        Variant(
            name="csa",
            title="Compressed sparse attention",
            sizes=(*_ENTRIES, "index_n_heads", "index_head_dim", "index_topk"),
            cache=(
                *_RECENT,
                CacheField("index entries", ("n_kv_heads", "index_head_dim"), per="compress"),
                *_waiting("", "head_dim", 2),
                *_waiting("index ", "index_head_dim", 2),
            ),
            choice=("index_n_heads", "index_topk"),
            asked=(_WINDOW, _SPAN, _INDEX_KEY),
            **_COMPRESSED,
        ),
        Variant(
            name="lightning",
            title="Lightning attention",
            sizes=("head_dim", "v_head_dim"),
            cache=(_MATRICES,),
            references=("qin2024lightning",),
            options=(("kind", "lightning"),),
            short="Lightning",
            **_LINEAR,
        ),
        Variant(
            name="gated_delta",
            title="Gated delta rule",
            sizes=("head_dim", "v_head_dim", "n_key_heads", "conv_kernel"),
            cache=_TAILS,
            references=("yang2024gateddelta",),
            options=(("kind", "gated_delta"),),
            short="Gated delta",
            group_chooses=True,
            asked=(_KEY_HEADS, _KERNEL),
            **_LINEAR,
        ),
        Variant(
            name="kimi_delta",
            title="Kimi delta attention",
            sizes=("head_dim", "v_head_dim", "conv_kernel"),
            cache=_OWN_TAILS,
            references=("kimi2025linear",),
            options=(("kind", "kimi_delta"),),
            short="Kimi delta",
            asked=(_KERNEL,),
            **_LINEAR,
        ),
        Variant(
            name="mamba2",
            title="Mamba-2",
            sizes=("head_dim", "v_head_dim", "n_key_heads", "conv_kernel"),
            cache=_TAILS,
            references=("dao2024mamba2",),
            options=(("kind", "mamba2"),),
            short="Mamba-2",
            group_chooses=True,
            asked=(_KEY_HEADS, _KERNEL),
            **_LINEAR,
        ),
    )
}

# What layers of published models keep that no layer here is made for: costs alone know them.
COUNTED: dict[str, Variant] = {
    entry.name: entry
    for entry in (
        Variant(
            name="indexed_latent",
            title="Latent attention to indexed tokens",
            sizes=(*_LATENT_SIZES, "index_n_heads", "index_head_dim", "index_topk"),
            cache=(*_LATENTS, CacheField("index keys", ("index_head_dim",))),
            references=("deepseek2025v32",),
            page="fewer-keys#dsa-an-indexer-selects-tokens",
            fixed=(("n_kv_heads", "n_heads"),),
            cost="mini_attn.cost.indexed_latent.IndexedLatentCost",
            forms=("expanded", "absorbed", "merged"),
            choice=("index_n_heads", "index_topk"),
            asked=(*_LATENT_WORDS, _INDEX_KEY),
            **_COUNTED,
        ),
        Variant(
            name="shared_window",
            title="Sliding-window attention whose keys are values",
            sizes=("head_dim", "window", "q_lora_rank", "o_groups", "o_lora_rank"),
            cache=_RECENT[:1],
            asked=(_WINDOW,),
            **(_COMPRESSED | _COUNTED),
        ),
    )
}

# Both, in this order: the last mapping comes first.
KINDS: Mapping[str, Variant] = ChainMap(COUNTED, REGISTRY)


def variant(name: str) -> Variant:
    """The entry for a name: of the registry, or of those that only have costs.

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
    if name not in KINDS:
        raise ConfigError(f"variant must be one of {', '.join(KINDS)}, got {name!r}")
    return KINDS[name]


def optional_sizes() -> dict[str, int | None]:
    """Return the sizes that only some variants have, each with what stands for it elsewhere.

    Returns
    -------
    dict
        By name 0, which no layer can have; None for a window, as layers without one say.

    Examples
    --------
    >>> optional_sizes()["kv_lora_rank"]
    0
    """
    named = dict.fromkeys(name for entry in REGISTRY.values() for name in entry.sizes)
    return {
        name: None if name == "window" else 0 for name in named if name not in (*_SHARED, "rope")
    }
