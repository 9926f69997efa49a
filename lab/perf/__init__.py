"""Measurements; CONTRIBUTING.md says how to run them."""
