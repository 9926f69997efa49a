"""Fidelity: is a description true to its image?."""
