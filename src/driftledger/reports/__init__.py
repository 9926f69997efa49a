"""Scores as tables, figures and pages; computes no score.

It imports ``ledger``, ``project``, ``benchmarks`` and what these may import.
"""
