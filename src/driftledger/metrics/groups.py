"""Groups of models that cannot be told apart.

All pairs are tested, corrected for their number, and ranks follow from the tests.

"Not told apart" is not transitive: the first may not be told from the second, nor the second from
the third, and yet the first be better than the third. A *rank* counts how many are shown to be
better. A *letter* marks models that cannot be told apart; a model may have several.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import chain, combinations, combinations_with_replacement, count, product
from string import ascii_letters
from typing import NamedTuple

Pair = tuple[str, str]


class PairDifference(NamedTuple):
    """The difference between the two of a pair."""

    difference: float
    """The second value minus the first, over common samples."""
    p_value: float | None
    """Two-sided, of no difference; None where there is too little to test."""


class Groups(NamedTuple):
    """Ranks and letters, each by model."""

    ranks: Mapping[str, int]
    """1 + how many are shown to be better."""
    letters: Mapping[str, str]
    """Two models share a letter if and only if they are not told apart."""
    better: Mapping[str, Set[str]]
    """The models that are shown to be better."""

    @property
    def best(self) -> frozenset[str]:
        """The models that no other is shown to beat; empty if these are all."""
        first = frozenset(name for name, rank in self.ranks.items() if rank == 1)
        return first if len(first) < len(self.ranks) else frozenset()


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values by Holm's method: those ≤ α hold with confidence 1 − α.

    The k-th smallest of m is multiplied by m − k + 1, is at least the ones before, and at most 1.
    It holds for any dependence between the tests.

    Source: Holm 1979, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian
    Journal of Statistics 6.

    >>> holm([0.01, 0.25, 0.5])
    [0.03, 0.5, 0.5]
    """
    total = len(p_values)
    smallest_first = sorted(range(total), key=p_values.__getitem__)
    corrected = [0.0] * total
    least = 0.0
    for rank, place in enumerate(smallest_first):
        multiplied = (total - rank) * p_values[place]
        least = max(least, min(1.0, multiplied))
        corrected[place] = least
    return corrected


def shown(pairs: Mapping[Pair, PairDifference], confidence: float) -> dict[Pair, int]:
    """Return 1 for a pair whose second is shown to be higher, −1 for the first, or 0.

    p-values are corrected by Holm's method over the pairs that can be tested.

    >>> pairs = {("a", "b"): PairDifference(0.5, 0.001), ("b", "c"): PairDifference(-0.1, 0.04)}
    >>> shown(pairs | {("a", "c"): PairDifference(0.4, None)}, 0.9)
    {('a', 'b'): 1, ('b', 'c'): -1, ('a', 'c'): 0}
    """
    tested = {}
    for pair, test in pairs.items():
        if test.p_value is not None:
            tested[pair] = test.p_value
    verdicts = dict.fromkeys(pairs, 0)
    for pair, p_value in zip(tested, holm([*tested.values()]), strict=True):
        difference = pairs[pair].difference
        if difference and p_value + confidence <= 1:
            verdicts[pair] = 1 if difference > 0 else -1
    return verdicts


def groups(
    models: Sequence[str],
    pairs: Mapping[Pair, PairDifference],
    *,
    confidence: float,
    higher_is_better: bool = True,
) -> Groups:
    """Return ranks and letters of ``models`` from the tests of their pairs.

    ``models`` are given the best first, which decides who has the first letter.

    Source: ranks as the Chatbot Arena's lower ends (Chiang et al. 2024, arXiv 2403.04132), of
    paired tests; letters: Piepho 2004, "An Algorithm for a Letter-Based Representation of
    All-Pairwise Comparisons", by Kellerman's cover of the pairs that are not told apart by cliques
    (Gramm et al. 2007, "Algorithms for Compact Letter Displays").

    Raises:
        ValueError: a pair is missing, or two models have one name.

    >>> near, far = PairDifference(-0.1, 0.2), PairDifference(-0.2, 0.01)
    >>> pairs = {("a", "b"): near, ("b", "c"): near, ("a", "c"): far}
    >>> found = groups(["a", "b", "c"], pairs, confidence=0.95)
    >>> found.ranks, found.letters
    ({'a': 1, 'b': 1, 'c': 2}, {'a': 'a', 'b': 'ab', 'c': 'b'})
    """
    if len(set(models)) < len(models):
        raise ValueError("two models have the same name")
    for pair in combinations(models, 2):
        if pair not in pairs and pair[::-1] not in pairs:
            raise ValueError(f"{pair[0]} and {pair[1]} are not compared")
    better: dict[str, set[str]] = {name: set() for name in models}
    for (one, other), higher in shown(pairs, confidence).items():
        if higher and (higher > 0) == higher_is_better:
            better[one].add(other)
        elif higher:
            better[other].add(one)
    letters = dict.fromkeys(models, "")
    names = chain(ascii_letters, map("({})".format, count(53)))
    for clique in _cliques(models, better):
        letter = next(names)
        for name in clique:
            letters[name] += letter
    ranks = {name: 1 + len(ahead) for name, ahead in better.items()}
    return Groups(ranks, letters, better=better)


def _cliques(
    names: Sequence[str], better: Mapping[str, Set[str]]
) -> Iterator[set[str]]:
    """Yield sets of names that cannot be told apart, until they cover every such pair."""

    def are_apart(one: str, other: str) -> bool:
        return other in better[one] or one in better[other]

    covered: set[frozenset[str]] = set()
    for pair in combinations_with_replacement(names, 2):
        if are_apart(*pair) or frozenset(pair) in covered:
            continue
        clique = set(pair)
        for name in names:
            if not any(are_apart(name, member) for member in clique):
                clique.add(name)
        covered.update(map(frozenset, product(clique, repeat=2)))
        yield clique
