"""Repositories that were made to harm their reader, each attack by the program that it would run or
the host it would reach."""
