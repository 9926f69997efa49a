"""Which code is behind what a stage writes: what ``resolve`` notes, and ``verify`` compares."""

from collections.abc import Mapping
from typing import Any

from driftledger.benchmarks.base import QUESTION_SET, Benchmark, Stage
from driftledger.benchmarks.registry import benchmark
from driftledger.core.canonical import sha256_of
from driftledger.core.code_digest import code_digest
from driftledger.core.registry import provider_place

WRITING = "driftledger.benchmarks.writing"
"""What writes the outputs of all stages of benchmarks."""


def code_behind(spec: Benchmark, stage: Stage) -> str:
    """The digest of the code behind a stage of a benchmark: its own, and what writes its outputs; of a score also
    which of its metrics DVC is to show, which the specification says."""
    digest = code_digest(stage.code, WRITING)
    return sha256_of([digest, *spec.for_dvc]) if stage == spec.scores else digest


def code_behind_data(stage: Stage, entry: Mapping[str, Any]) -> str:
    """The digest of the code behind a dataset or a question set: what builds it, its provider, and the rules that its
    questions must keep.

    Args:
        stage: :data:`DATASET` or :data:`QUESTION_SET`.
        entry: which one it builds, as ``data/resolved.json`` says it in words.

    Raises:
        ConfigError: there is no such provider or benchmark.
    """
    modules = [stage.code, provider_place(f"{stage.name}s", entry["provider"])]
    if stage == QUESTION_SET:
        modules.append(type(benchmark(entry["protocol"]).questions).__module__)
    return code_digest(*modules)
