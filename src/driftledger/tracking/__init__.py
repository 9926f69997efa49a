"""Runs, metrics, images and traces in MLflow, made of score files and records.

It imports ``reports``, ``ledger``, ``project``, ``benchmarks`` and what these may import.
"""
