"""What changed between two Git revisions: components, data, scores, and how answers are read."""
