"""Multimodal LLMs and people."""
