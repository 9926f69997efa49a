"""Chains of describe → draw again, shared by several benchmarks."""
