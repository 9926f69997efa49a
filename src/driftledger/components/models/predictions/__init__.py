"""Answers and descriptions that were made elsewhere, read from the files that other evaluation tools write."""
