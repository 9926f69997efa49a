"""Models without weights, and controls."""
