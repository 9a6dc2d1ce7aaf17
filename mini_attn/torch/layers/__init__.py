"""Layers with weights, up to the decoder."""
