"""This repository's own studies, beside the package and out of its wheel: the trio, validity,
mutations, speed.

Run from the top folder: ``python -m lab.trio``, ``python -m lab.validity`` and so on.
"""
