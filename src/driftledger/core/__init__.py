"""The base of every room: types, errors, bounded files, text.

It imports nothing of ours.
"""
