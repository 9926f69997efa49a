"""Chains of describe → draw again, which GenCeption and fidelity have in common: a redrawing is a chain of one."""
