"""A run of somebody else's, made again here: their bundle, the reader's own components."""
