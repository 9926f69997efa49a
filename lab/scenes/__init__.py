"""Drawn scenes whose facts are known, photographs of them, and questions about them."""
