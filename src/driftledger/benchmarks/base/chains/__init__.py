"""Chains of describe → draw again, which several benchmarks collect; a redrawing is a chain of one
iteration."""
