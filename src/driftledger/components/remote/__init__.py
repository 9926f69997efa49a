"""Calls to services: what they may cost, how fast they may follow one another, and when one is tried again."""
