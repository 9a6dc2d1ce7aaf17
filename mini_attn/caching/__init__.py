"""What a cache does with integers, once for both backends: the arrays are left to each."""

from mini_attn.caching.transaction import Transaction, Versioned

__all__ = ["Transaction", "Versioned"]
