"""What a cache does with integers, once for both backends: the arrays are left to each."""

from mini_attn.caching.blocks import Blocks
from mini_attn.caching.evicting import Evicting, Kept
from mini_attn.caching.filled import Cached, CachedIndexed, CachedMeans, Filled
from mini_attn.caching.groups import Groups, Sealed
from mini_attn.caching.pages import BorrowedBlocks, Paged, Pages
from mini_attn.caching.planning import Piece, Step
from mini_attn.caching.prefixes import Prefixes, chain_hash
from mini_attn.caching.ring import Ring
from mini_attn.caching.scheduler import Scheduler
from mini_attn.caching.slots import Slots
from mini_attn.caching.spans import CachedSpans, Closed, Spans, advanced, closed
from mini_attn.caching.states import Snapshot, States
from mini_attn.caching.transaction import Transaction, Versioned

__all__ = [
    "Blocks",
    "BorrowedBlocks",
    "Cached",
    "CachedIndexed",
    "CachedMeans",
    "CachedSpans",
    "Closed",
    "Evicting",
    "Filled",
    "Groups",
    "Kept",
    "Paged",
    "Pages",
    "Piece",
    "Prefixes",
    "Ring",
    "Scheduler",
    "Sealed",
    "Slots",
    "Snapshot",
    "Spans",
    "States",
    "Step",
    "Transaction",
    "Versioned",
    "advanced",
    "chain_hash",
    "closed",
]
