"""Which code is behind what a stage of a benchmark writes."""

from driftledger.benchmarks.base import Stage
from driftledger.core.code_digest import code_digest

WRITING = "driftledger.benchmarks.writing"
"""What writes the outputs of every stage."""


def stage_code(stage: Stage) -> str:
    """The digest of it, as ``resolve`` notes it."""
    return code_digest(stage.code, WRITING)
