"""Benchmarks, a folder each: which calls to make, how to score them.

It imports ``collect``, ``metrics``, ``components``, ``data`` and ``core``; it calls no model.
"""
