"""A checkout: its settings, its presets and its components as DVC saw them.

It imports ``benchmarks`` and what that may import.
"""
