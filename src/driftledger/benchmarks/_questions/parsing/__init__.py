"""Reading answers: what a model said, and what is taken for its answer.

Free text has to become a choice, a yes or a no, or a grade before anything can be scored, and here a score is made or
lost without anyone noticing. So reading is its own step: the functions are pure and deterministic, a stored reply can
be read again without calling a model, and whatever cannot be read says so. Nothing is ever guessed.
"""

PARSER_VERSION = "1"
"""Stored beside every answer that was read; raised with any change that could read a reply differently."""
