"""Component calls: which are made at once, which are found in the store, and what becomes of the results."""
