"""Evaluate multimodal LLMs on data nobody had to label, with a ledger behind every score."""

__version__ = "0.2.0"
