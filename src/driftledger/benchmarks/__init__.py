"""Benchmarks, a folder each: which calls one makes, and how their results become a score.

It imports ``collect``, ``metrics``, ``components``, ``data`` and ``core``; it calls no model.
"""
