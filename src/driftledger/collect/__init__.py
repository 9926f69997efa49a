"""Component calls: batches, the store of finished calls, and what becomes of the results."""
