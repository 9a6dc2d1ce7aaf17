"""Attention, its caches and its costs, written to be read."""

__version__ = "0.2.0"
