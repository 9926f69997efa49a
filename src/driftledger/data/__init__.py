"""Datasets and question sets: where they come from, and how they are checked and stored.

It imports ``core``.
"""
