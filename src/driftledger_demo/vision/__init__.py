"""Answers to questions from pixels: the question, the sight, and the words."""
