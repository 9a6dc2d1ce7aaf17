"""What a cache does with integers, once for both backends: the arrays are left to each."""

from mini_attn.caching.blocks import Blocks
from mini_attn.caching.evicting import Evicting, Kept
from mini_attn.caching.filled import Cached, CachedIndexed, Filled
from mini_attn.caching.groups import Groups, Sealed
from mini_attn.caching.pages import Paged, Pages
from mini_attn.caching.ring import Ring
from mini_attn.caching.slots import Slots
from mini_attn.caching.transaction import Transaction, Versioned

__all__ = [
    "Blocks",
    "Cached",
    "CachedIndexed",
    "Evicting",
    "Filled",
    "Groups",
    "Kept",
    "Paged",
    "Pages",
    "Ring",
    "Sealed",
    "Slots",
    "Transaction",
    "Versioned",
]
