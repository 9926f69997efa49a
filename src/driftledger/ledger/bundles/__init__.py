"""Bundles: one file with everything behind a run.

It is written in a checkout and can be checked anywhere.
"""
