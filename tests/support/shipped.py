"""The results that this repository ships, for tests that say something about them.

Who has evaluated something else has results of their own in their places, about which these tests have nothing to say:
what a score was made with stands in DVC's locks, beside it, and where that is not the default the test is skipped.
"""

from collections.abc import Mapping
from functools import cache, reduce
from typing import Any

import pytest

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import SCORE, Score
from driftledger.core.files import read_json
from driftledger.ledger.lock import LockEntry, read_lock
from tests.conftest import REPOSITORY
from tests.support.params import default_params, default_settings

OTHERS = "other results than the repository's own stand here"


@cache
def _locked() -> dict[str, LockEntry]:
    return read_lock(REPOSITORY)


def _as_by_default(stage: str) -> bool:
    """Whether a stage ran last with the settings that tests start from."""
    params = default_params()
    ran = _locked().get(stage)
    return ran is not None and all(
        reduce(dict[str, Any].__getitem__, key.split("."), params) == value
        for key, value in ran.params["params.yaml"].items()
    )


def _score(spec: Benchmark, keys: Mapping[str, str]) -> Score:
    path = REPOSITORY / spec.scores.at(keys) / SCORE
    stage = f"{spec.scores.name}@{'-'.join(keys[key] for key in spec.scores.keys)}"
    if not (path.exists() and _as_by_default(stage)):
        pytest.skip(OTHERS)
    return read_json(path, Score)


def shipped_score(name: str, **keys: str) -> Score:
    """A score that the default selects."""
    return _score(benchmark(name), keys)


def shipped_scores(name: str) -> list[Score]:
    """All of a benchmark that the default selects, in its order."""
    spec = benchmark(name)
    return [_score(spec, keys) for keys in default_settings().keys_of(spec)]


def shipped_leaderboard() -> str:
    """The report's first page, which shows what the default selects."""
    if not _as_by_default("report"):
        pytest.skip(OTHERS)
    return (REPOSITORY / "reports" / "leaderboard.md").read_text(encoding="utf-8")
