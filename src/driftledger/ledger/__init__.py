"""The origin of scores: lineage, audit, verify, compare, bundles. It reads stored files alone.

It imports ``project``, ``benchmarks`` and what these may import, no report and no MLflow.
"""
