"""Fewer numbers and fewer bits: shared heads, pruned and quantized weights."""
