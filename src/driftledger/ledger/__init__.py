"""Where scores come from: lineage, audit, verify, compare, bundles.

This room reads stored files alone.
"""
