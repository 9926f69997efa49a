"""Bundles: one file with everything behind a run, written in a checkout and checked anywhere.

What reads and checks one is bounded, and imports neither DVC nor MLflow.
"""
