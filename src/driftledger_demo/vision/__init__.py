"""Answers to questions, from pixels: what a question asks, what is to be seen, and which words say so."""
