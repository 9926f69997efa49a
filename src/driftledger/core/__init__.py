"""What every room needs: types, errors, canonical JSON, bounded files, the registry, text.

It imports nothing of ours.
"""
