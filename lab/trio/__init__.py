"""A describer, a painter and two lookers of the real architectures, trained here from nothing and
small enough for Git.

They are for what random weights cannot show: that the whole neural path works and means something
on a laptop without a network, and that the metrics rank a better model higher. The package knows
nothing of how they came to be.
"""
