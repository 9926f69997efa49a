"""What a bootstrap draws anew: the samples, or questions, behind one value of one score, and what each of them adds.

Scores are means over what is drawn, as GenCeption defines them: over a category's samples, then over categories. The
questions about one image are drawn together, since they are answered well or badly together, as in
:mod:`lab.validity.resampled`.
"""

from typing import NamedTuple, TypeAlias


class Unit(NamedTuple):
    """One sample or question."""

    value: float
    stratum: str
    """A category of the score: each counts once, whatever its size, and is drawn from by itself."""
    cluster: str
    """What is drawn with it."""


Units: TypeAlias = dict[str, Unit]
"""By id; one that has no value is not in it."""
