"""Answers to questions, from pixels: what a question asks, what is to be seen, and which words say so."""

from driftledger.models.answering.answer import answer
from driftledger.models.answering.asked import Asked, asked

__all__ = ["Asked", "answer", "asked"]
