"""Benchmarks, a folder each: their calls, and their scores.

It imports ``collect``, ``metrics``, ``components``, ``data`` and ``core``; it calls no model.
"""
