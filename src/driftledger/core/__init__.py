"""The base of every room: types, errors, canonical JSON, bounded files, the registry, text.

It imports nothing of ours.
"""
