"""Scores as tables and pages: standings, cells, letters, charts, the site. It computes no score.

It imports ``ledger``, ``project``, ``benchmarks`` and what these may import.
"""
