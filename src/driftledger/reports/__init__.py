"""Scores as tables, figures and pages; no score is computed here.

It imports ``ledger``, ``project``, ``benchmarks`` and what these may import.
"""
