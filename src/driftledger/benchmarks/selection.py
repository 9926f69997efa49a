"""Which scores there are to be: the benchmark and the keys of each, and those that one combination's run shows."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from driftledger.benchmarks.base import Benchmark
from driftledger.core.paths import Combination


class Selected(NamedTuple):
    """Scores in the order of the selection."""

    scores: Sequence[tuple[Benchmark, Mapping[str, str]]] = ()
    """Benchmark, and the keys that name the score."""

    def of(self, combination: Combination) -> "Selected":
        """Those of a combination's run: where a score has a model, generator or encoder, it is the combination's."""
        return Selected([(spec, keys) for spec, keys in self.scores if is_of(keys, combination)])


def is_of(keys: Mapping[str, str], combination: Combination) -> bool:
    """Whether a combination's run shows the score of these keys."""
    return all(keys.get(role, name) == name for role, name in combination._asdict().items())
