"""Chains of describe → draw; a redrawing is a chain of one iteration."""
