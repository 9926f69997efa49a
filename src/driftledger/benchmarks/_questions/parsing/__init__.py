"""Reading answers: what a model said, and what is taken for its answer.

Free text has to become a choice, a yes or a no, or a grade before anything can be scored, and here a score is made or
lost without anyone noticing. So reading is its own step: the functions are pure and deterministic, a stored reply can
be read again without calling a model, and whatever cannot be read says so. Nothing is ever guessed.

The three parsers, :mod:`.choice`, :mod:`.yes_no` and :mod:`.grade`, have a ``VERSION`` each, which is stored beside
whatever they read. It is raised with any change, there or in a module that they share, that could read a reply
differently. ``docs/method/reading.md`` says how well they read.
"""
