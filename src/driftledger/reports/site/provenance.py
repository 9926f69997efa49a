"""Where a number comes from: a section per score on its model's page, and a place in it per number."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from driftledger.benchmarks.base import COVERAGE, NEEDED_FOR, ROLES, Origin
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import SCORE, Score, base_key
from driftledger.core.paths import Combination
from driftledger.ledger.lineage import place_of
from driftledger.ledger.lock import LockEntry


def path_of(score: Score) -> str:
    """The page of a score's model, relative to the top of the site."""
    return f"runs/{score.model}.html"


def section_of(score: Score) -> str:
    """The id of a score's section on that page."""
    keys = benchmark(score.benchmark).scores.keys
    return "-".join([score.benchmark, *(score.keys[key] for key in keys if key != "model")])


def href(origin: Origin) -> str:
    """Where a number comes from, relative to the top of the site; for one of a group, where its score does."""
    section = section_of(origin.score)
    place = f"{section}-{origin.number}" if origin.number and "/" not in origin.number else section
    return f"{path_of(origin.score)}#{place}"


def score_view(
    score: Score, locks: Mapping[str, LockEntry], combinations: Sequence[Combination], others: Sequence[Score]
) -> Mapping[str, Any]:
    """A score's numbers, and what is behind them.

    Args:
        others: all scores of the model.
    """
    spec, file = benchmark(score.benchmark), f"{benchmark(score.benchmark).scores.at(score.keys)}/{SCORE}"
    run = next(("/".join(each) for each in combinations if each.shows(score.keys)), None)
    roles = sorted(score.components, key=lambda role: list(ROLES).index(role))
    values, numbers = {**score.metrics, COVERAGE.key: score.coverage}, []
    for metric in (*spec.metrics, COVERAGE):
        for key in [key for key in values if base_key(key) == key and spec.metric(key) is metric]:
            alone = sum(key in each.metrics for each in others) == 1
            place = key if alone or not run else f"{place_of(spec, score.keys)}/{key}"
            command = f"driftledger audit {shlex.quote(f'{run or file}:{place}')}"
            used = [role for role in roles if NEEDED_FOR[role] & metric.needs]
            numbers.append((metric, key, values[key], used, command))
    behind = []
    for stage in spec.stages:
        entry = locks.get(stage.lock(score.keys))
        out = None if entry is None else entry.out(stage.out(score.keys))
        sha256 = score.inputs.data_digest if stage is spec.data else score.inputs.records.get(stage.name, "")
        behind.append((stage.lock(score.keys), stage.at(score.keys), sha256, "" if out is None else out.md5))
    commands = [("Does every byte and number still hold?", f"driftledger verify {shlex.quote(run)}")] if run else []
    return {
        "section": section_of(score),
        "components": [(role, score.components[role]) for role in roles],
        "score": score,
        "spec": spec,
        "on": " · ".join(score.keys[key] for key in spec.scores.keys if key != "model"),
        "numbers": numbers,
        "behind": behind,
        "absent": [(m.named(key) if (m := spec.metric(key)) else key, why) for key, why in score.absent.items()],
        "commands": [*commands, ("Make it again", f"dvc repro {spec.scores.lock(score.keys)}")],
    }
