"""Checks a bundle that somebody else made: every byte, link and number, without their code.

It imports nothing of driftledger, no torch and nothing that speaks to a network: only the
standard library, numpy and Pillow. Its own code, written from the papers and from ``docs/``,
computes the numbers, so that a wrong number passes only if two programs make the same
mistake.
"""
