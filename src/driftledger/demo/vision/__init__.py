"""Answers to questions, from pixels: what a question asks, what is to be seen, and which words say so."""

from driftledger.demo.vision.answer import answer
from driftledger.demo.vision.parse_question import ParsedQuestion, asked

__all__ = ["ParsedQuestion", "answer", "asked"]
