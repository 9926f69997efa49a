"""Which code is behind what a stage writes: what ``resolve`` notes, and ``verify`` compares."""

from collections.abc import Mapping
from typing import Any

from driftledger.benchmarks.base import DATASET, QUESTION_SET, Stage
from driftledger.benchmarks.registry import benchmark
from driftledger.core.code_digest import code_digest
from driftledger.core.registry import provider_class

WRITING = "driftledger.benchmarks.writing"
"""What writes the outputs of all stages of benchmarks."""


def code_behind(stage: Stage, entry: Mapping[str, Any] | None = None) -> str:
    """The digest of the code behind a stage: its own, and what writes its outputs.

    Args:
        entry: of a stage that builds data, which dataset or question set it builds, as ``data/resolved.json`` says it
            in words; the code of its provider counts too, and that of the rules that its questions must keep.

    Raises:
        ConfigError: there is no such provider or benchmark.
    """
    if stage not in (DATASET, QUESTION_SET):
        return code_digest(stage.code, WRITING)
    if entry is None:
        raise ValueError(f"the code behind a {stage.name} depends on which it is")
    modules = [stage.code, provider_class(f"{stage.name}s", entry["provider"]).__module__]
    if stage == QUESTION_SET:
        modules.append(type(benchmark(entry["protocol"]).questions).__module__)
    return code_digest(*modules)
