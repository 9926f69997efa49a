"""A benchmark as somebody else would add one: how many words does a description have?

One folder, and one line in the registry: an entry point, as an installed distribution has one.
"""
