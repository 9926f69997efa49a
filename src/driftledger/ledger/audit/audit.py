"""Evidence as a tree that a person reads, and as JSON: from what was asked back to the bytes and versions behind it."""

from typing import Any

from rich.tree import Tree

from driftledger.benchmarks.base import NEEDED_FOR
from driftledger.core.canonical import canonical_json
from driftledger.ledger.audit.branches import add, add_file, inert_json, line, rendered
from driftledger.ledger.audit.found import RunTarget, ScoreTarget
from driftledger.ledger.audit.image_audit import image_json, image_tree
from driftledger.ledger.audit.logged import LoggedRun
from driftledger.ledger.audit.proof import proof
from driftledger.ledger.audit.score_tree import EVERYTHING, add_inputs, add_lock, add_score
from driftledger.ledger.audit.sources import Sources
from driftledger.ledger.audit.targets import ImageTarget, MetricTarget, Target
from driftledger.ledger.lineage import Evidence

_RECORDED = {"packages.txt": "packages", "dirty.patch": "dirty patch"}
"""What a run in MLflow carries beside its evidence."""


def as_tree(target: Target, sources: Sources) -> str:
    """The whole way from what was asked back to bytes, versions and commit, and what that proves."""
    if isinstance(target, ImageTarget):
        return "\n".join([rendered(image_tree(target)), *proof(sources, None)])
    run = target if isinstance(target, RunTarget) else target.run
    if isinstance(target, RunTarget):
        tree = _run_tree(run.evidence)
    elif isinstance(target, ScoreTarget):
        tree = Tree(line(f"{target.lineage.score_file.path}, {_of(run, target.in_run)}"))
        add_score(tree, target.lineage)
    else:
        tree = _number_tree(target)
    _add_code(tree, run)
    return "\n".join([rendered(tree), *proof(sources, run.known)])


def as_json(target: Target, sources: Sources) -> str:
    """The same for programs. Of a run it is its evidence, with ``known_from``, ``recorded`` and ``proof`` beside it."""
    if isinstance(target, ImageTarget):
        return inert_json(image_json(target) | {"proof": proof(sources, None)})
    run = target if isinstance(target, RunTarget) else target.run
    more: dict[str, Any] = {
        "known_from": run.known,
        "recorded": _recorded(run.logged),
        "proof": proof(sources, run.known),
    }
    evidence = run.evidence.model_dump(mode="json", by_alias=True)
    if isinstance(target, RunTarget):
        return inert_json(evidence | more)
    owner = {key: evidence[key] for key in ("name", "combination", "fingerprint")} if target.in_run else None
    more |= {"run": owner, "code": evidence["code"]}
    if isinstance(target, ScoreTarget):
        return inert_json(target.lineage.model_dump(mode="json", by_alias=True) | more)
    return inert_json(_number_json(target) | more)


def _run_tree(evidence: Evidence) -> Tree:
    tree = Tree(line(f"{evidence.name}, fingerprint {evidence.fingerprint}"))
    for lineage in evidence.lineages:
        add_score(tree, lineage)
    return tree


def _number_tree(target: MetricTarget) -> Tree:
    number = target.number
    lineage, metric = number.lineage, number.metric
    tree = Tree(line(f"{number.name} = {number.value!r}, {_of(target.run, target.in_run)}"))
    if metric is not None:
        computed = add(tree, "computed", number.formula or metric.formula)
        add(computed, "function", metric.function)
        if metric.published:
            add(computed, "published", metric.published)
        add(computed, "settings", canonical_json(lineage.score.inputs.settings))
        add(computed, "of", f"{lineage.score.scored} of {lineage.score.total}")
    add(tree, "values behind it", lineage.rows_file.path)
    branch = add_file(tree, "score file", lineage.score_file)
    add_inputs(branch, lineage, metric.needs if metric else EVERYTHING)
    add_lock(tree, lineage)
    return tree


def _number_json(target: MetricTarget) -> dict[str, Any]:
    number = target.number
    lineage, metric = number.lineage, number.metric
    needs = metric.needs if metric else EVERYTHING
    cards = {role: card for role, card in lineage.score.components.items() if needs & NEEDED_FOR[role]}
    return {
        "metric": number.name,
        "value": number.value,
        "computed": None
        if metric is None
        else {
            "how": number.formula,
            "function": metric.function,
            "published": metric.published,
            "from": sorted(needs),
        },
        "settings": lineage.score.inputs.settings,
        "values": lineage.rows_file.path,
        "score_file": lineage.score_file.model_dump(mode="json"),
        "data": lineage.data.model_dump(mode="json"),
        "collected": {stage: file.model_dump(mode="json") for stage, file in lineage.collected.items()},
        "components": {role: card.model_dump(mode="json", by_alias=True) for role, card in cards.items()},
        "stages": {stage: entry.model_dump(mode="json") for stage, entry in lineage.stages.items()},
    }


def _of(run: RunTarget, in_run: bool) -> str:
    evidence = run.evidence
    return f"of {evidence.name}, fingerprint {evidence.fingerprint}" if in_run else "of no run that is selected here"


def _add_code(tree: Tree, run: RunTarget) -> None:
    """The code now, or in the commit that has the score; and what was noted when the run was shown in MLflow."""
    if run.known == "git":
        add(
            tree,
            "code",
            f"the scores stand in git commit {run.evidence.code.commit}; which code gave them is not in Git",
        )
    elif run.known == "dvc.lock":
        add(tree, "code", _commit(run.evidence.code.commit, run.evidence.code.dirty))
    logged = run.logged
    if logged is None:
        add(tree, "packages and dirty patch", "not recorded: they are artifacts of a run in MLflow")
        return
    code = logged.evidence().get("code") or {}
    branch = add(
        tree, "code", f"{_commit(code.get('commit'), code.get('dirty'))}, when MLflow run {logged.run_id} was made"
    )
    recorded = _recorded(logged)
    for file, what in _RECORDED.items():
        without = "none" if file == "dirty.patch" and code.get("dirty") is False else "not recorded"
        add(branch, what, recorded.get(file, without))


def _commit(commit: object, dirty: object) -> str:
    state = "with uncommitted changes" if dirty else "clean"
    return f"git commit {commit} ({state})" if commit else "not under Git"


def _recorded(logged: LoggedRun | None) -> dict[str, str]:
    """Where the package list and the dirty patch are."""
    if logged is None:
        return {}
    at = f"artifact of run {logged.run_id} in MLflow at {logged.address}"
    return {file: f"{file}, {at}" for file in logged.files() if file in _RECORDED}
