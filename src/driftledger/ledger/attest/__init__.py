"""Statements about the ledger that somebody signs: checkpoints, plans, scores, reproductions."""
