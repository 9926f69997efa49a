"""Runs, metrics, images and traces in MLflow.

It imports ``reports``, ``ledger``, ``project``, ``benchmarks`` and what these may import.
"""
