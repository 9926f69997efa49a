"""Read what is behind scores: their lineage, audits, comparisons, bundles and checks of all of it.

Nothing of a checkout is run to find out. The room may import project and all below.
"""
