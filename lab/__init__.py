"""This repository's own studies, beside the package and out of its wheel: the trio, validity, the ladder, mutations.

Run from the top folder: ``python -m lab.trio``, ``python -m lab.validity``, ``python -m lab.ladder`` and so on.
"""
