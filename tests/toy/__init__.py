"""A variant from outside the package: each token says how loudly it may be heard, and is cached so.

It brings what a variant may bring: a configuration, a layer and a cache in each backend, costs.
"""
