"""The paper's Table 2."""

from collections.abc import Iterator

from driftledger.benchmarks._questions.tables import ordered, ranked_table
from driftledger.benchmarks.base import SideBySide, Table
from driftledger.benchmarks.mm_vet.questions import CAPABILITIES


def tables(block: SideBySide) -> Iterator[Table]:
    """A row per model, the best first."""
    columns = {name: f"capability/{name}/grade" for name in CAPABILITIES} | {"total": "total"}
    scores = ordered(block, "total")
    yield ranked_table("grade by capability, as in the paper's Table 2", scores, "total", columns)
