"""A benchmark of somebody else: how many words does a description have? One folder and one entry
point."""
