"""Reading answers: free text becomes a choice, yes or no, a grade.

The functions are pure, so that a stored reply can be read again; what cannot be read says so, and
nothing is guessed.

The three parsers, :mod:`.choice`, :mod:`.yes_no` and :mod:`.grade`, have a ``VERSION`` each, which
is stored beside whatever they read. It is raised with any change, there or in a module that they
share, that could read a reply differently. ``docs/method/reading.md`` says how well they read.
"""
