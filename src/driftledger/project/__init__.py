"""A checkout: its settings, presets and components.

It imports ``benchmarks`` and what that may import.
"""
