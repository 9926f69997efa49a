"""Datasets and question sets: sources, checks, storage.

It imports ``core``.
"""
