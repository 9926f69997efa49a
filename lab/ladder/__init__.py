"""Do the metrics see what a description has lost? It is damaged by a known dose, and all else stays the same.

A stage of training that scores higher says little: it may be better at anything. Here the truth is made: facts are left
out, made wrong, denied or shuffled, each time a larger share of them, and the metrics have to fall; or the same facts
are said otherwise, and the metrics have to stay. ``python -m lab.ladder`` writes ``reports/ladder.*``.
"""
