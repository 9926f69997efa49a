"""The branch of one score: components, records, images, data and the lock, whatever the benchmark."""

from collections.abc import Set

from rich.tree import Tree

from driftledger.benchmarks.base import NEEDED_FOR, Input
from driftledger.benchmarks.records import RECORDS
from driftledger.core.canonical import canonical_json
from driftledger.ledger.audit.branches import add, add_component, add_file, line
from driftledger.ledger.lineage import Lineage

EVERYTHING = frozenset(Input)


def add_score(tree: Tree, lineage: Lineage) -> None:
    """The score with all its numbers, and everything behind it."""
    score = lineage.score
    branch = add(tree, "score", f"{score.benchmark} on {lineage.place.partition('/')[2]}: {_headline(lineage)}")
    for key, value in sorted(score.metrics.items()):
        branch.add(line(f"{key} = {value!r}"))
    for flag in score.flags:
        add(branch, "to know", flag)
    for key, reason in sorted(score.absent.items()):
        add(branch, "absent", f"{key}: {reason}")
    for role, versions in sorted(score.served.items()):
        add(branch, f"{role} served as", ", ".join(f"{each} ({calls} calls)" for each, calls in versions.items()))
    add_file(branch, "score file", lineage.score_file)
    add_inputs(branch, lineage, EVERYTHING)
    add_lock(branch, lineage)


def _headline(lineage: Lineage) -> str:
    """The first headline with its interval, and how much was scored."""
    score, spec = lineage.score, lineage.spec
    coverage = f"coverage {score.scored}/{score.total}"
    key, value = spec.headline(score)
    metric = spec.metric(key)
    if value is None or metric is None:
        return coverage
    interval, said = score.interval(key), f"{metric.named(key)} = {value:.4f}"
    if interval is not None:
        confidence = (score.inputs.settings.get("bootstrap") or {}).get("confidence", 0.0)
        said += f" ({confidence:.0%} interval {interval.low:.4f} to {interval.high:.4f})"
    return f"{said}, {coverage}"


def add_inputs(branch: Tree, lineage: Lineage, needed: Set[Input]) -> None:
    """What a score was computed from, as far as it is ``needed``."""
    score = lineage.score
    for role, card in score.components.items():
        if NEEDED_FOR[role] & needed:
            add_component(branch, role.replace("_", " "), card)
    if needed - {Input.DATA, Input.ENCODER, Input.RATINGS}:
        for key, value in score.inputs.protocol.items():
            if value not in (None, "", [], {}):
                add(branch, key.replace("_", " "), value if isinstance(value, str) else canonical_json(value))
        for stage, file in lineage.collected.items():
            folder = add_file(branch, stage, file)
            add(folder, RECORDS, f"sha256 {score.inputs.records.get(stage, 'not known')}")
    if Input.RATINGS in needed:
        for setting, digest in lineage.beside.items():
            add(branch, setting, f"sha256 {digest}")
    if Input.DATA in needed:
        data = add_file(branch, lineage.spec.data.name.replace("_", " "), lineage.data)
        add(data, "digest", score.inputs.data_digest)


def add_lock(branch: Tree, lineage: Lineage) -> None:
    """The entries of ``dvc.lock`` from the data to the score."""
    lock = add(branch, "dvc.lock", ", ".join(lineage.stages))
    for name, entry in lineage.stages.items():
        stage = add(lock, name, entry.cmd if isinstance(entry.cmd, str) else "; ".join(entry.cmd))
        for dep in entry.deps:
            add_file(stage, "read", dep)
        for out in entry.outs:
            add_file(stage, "wrote", out)
