"""Drawn scenes whose facts are known, and questions about them: a question set without downloads or labelling."""
