"""Tiny checkpoints with random weights, made on disk and offline, in the layouts that the libraries
load.

Every ``build_*`` takes a folder and a seed, and writes the same bytes for the same two.
"""
