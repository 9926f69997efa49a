"""Checks a bundle that somebody else made: every byte, every link and every number in it, without their code.

It imports nothing of driftledger, no torch and nothing that speaks to a network: the standard library, numpy and
Pillow. It computes the numbers by its own code, written from the papers and from ``docs/``, so that two programs have
to make the same mistake before a wrong number passes.
"""
