"""MME's three measures, and how often the model declined."""

from collections.abc import Iterator

from driftledger.benchmarks._questions.tables import ordered, ranked_table
from driftledger.benchmarks.base import SideBySide, Table


def tables(block: SideBySide) -> Iterator[Table]:
    """A row per model, the best first."""
    columns = {name: name for name in ("score", "accuracy", "accuracy_plus", "refused")}
    yield ranked_table("score (0 to 200), accuracy and accuracy+", ordered(block, "score"), "score", columns)
