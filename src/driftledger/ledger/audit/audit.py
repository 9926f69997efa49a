"""Evidence as a tree that a person reads, and as JSON: from what was asked back to the bytes and versions behind it."""

from pathlib import Path
from typing import Any

from rich.tree import Tree

from driftledger.benchmarks._questions.records import QuestionScore
from driftledger.core.canonical import canonical_json
from driftledger.core.paths import questions_file, samples_file
from driftledger.ledger.audit.branches import add, add_file, inert_json, line, rendered
from driftledger.ledger.audit.formulas import DRAWN, ENCODER, EVERYTHING, GRADES, SAID
from driftledger.ledger.audit.found import RunTarget, ScoreTarget
from driftledger.ledger.audit.image_audit import image_json, image_tree
from driftledger.ledger.audit.logged import LoggedRun
from driftledger.ledger.audit.proof import proof
from driftledger.ledger.audit.score_tree import add_inputs, add_lock, add_score
from driftledger.ledger.audit.sources import Sources
from driftledger.ledger.audit.targets import ImageTarget, MetricTarget, Target
from driftledger.ledger.lineage import AnyScore, Behind, Evidence

_RECORDED = {"packages.txt": "packages", "dirty.patch": "dirty patch"}
"""What a run in MLflow carries beside its evidence."""

_NEEDED_FOR = {
    "encoder": {ENCODER},
    "text_encoder": {ENCODER},
    "generator": {DRAWN},
    "model": {SAID, DRAWN, GRADES},
    "judge": {GRADES},
}
"""Role → what a number hangs on, if the component in that role matters to it."""


def as_tree(target: Target, sources: Sources) -> str:
    """The whole way from what was asked back to bytes, versions and commit, and what that proves."""
    if isinstance(target, ImageTarget):
        return "\n".join([rendered(image_tree(target)), *proof(sources, None)])
    run = target if isinstance(target, RunTarget) else target.run
    if isinstance(target, RunTarget):
        tree = _run_tree(run.evidence)
    elif isinstance(target, ScoreTarget):
        tree = Tree(line(f"{target.behind.score_file.path}, {_of(run, target.in_run)}"))
        add_score(tree, target.behind)
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
        return inert_json(target.behind.model_dump(mode="json", by_alias=True) | more)
    return inert_json(_number_json(target) | more)


def _run_tree(evidence: Evidence) -> Tree:
    tree = Tree(line(f"{evidence.name}, fingerprint {evidence.fingerprint}"))
    for behind in evidence.behind:
        add_score(tree, behind)
    return tree


def _number_tree(target: MetricTarget) -> Tree:
    number = target.number
    behind = number.behind
    tree = Tree(line(f"{number.name} = {number.value!r}, {_of(target.run, target.in_run)}"))
    if number.formula:
        computed = add(tree, "computed", number.formula.says)
        add(computed, "function", number.formula.function)
        add(computed, "settings", canonical_json(behind.score.inputs.settings))
        add(computed, "of", f"{behind.score.scored} of {behind.score.total}")
    add(tree, "values behind it", _beside(behind))
    branch = add_file(tree, "score file", behind.score_file)
    add_inputs(branch, behind, number.formula.needs if number.formula else EVERYTHING)
    add_lock(tree, behind)
    return tree


def _number_json(target: MetricTarget) -> dict[str, Any]:
    number = target.number
    cards = {role: card.model_dump(mode="json", by_alias=True) for role, card in number.behind.cards.items()}
    needs = number.formula.needs if number.formula else EVERYTHING
    return {
        "metric": number.name,
        "value": number.value,
        "computed": None
        if number.formula is None
        else {"how": number.formula.says, "function": number.formula.function, "from": sorted(number.formula.needs)},
        "settings": number.behind.score.inputs.settings,
        "values": _beside(number.behind),
        "score_file": number.behind.score_file.model_dump(mode="json"),
        "data": number.behind.data.model_dump(mode="json"),
        "collected": {stage: file.model_dump(mode="json") for stage, file in number.behind.collected.items()},
        "components": {role: card for role, card in cards.items() if needs & _NEEDED_FOR[role]},
        "stages": {stage: entry.model_dump(mode="json") for stage, entry in number.behind.stages.items()},
    }


def _of(run: RunTarget, in_run: bool) -> str:
    evidence = run.evidence
    return f"of {evidence.name}, fingerprint {evidence.fingerprint}" if in_run else "of no run that is selected here"


def _beside(behind: Behind[AnyScore]) -> str:
    """The file with the values behind a score's means."""
    score_file = Path(behind.score_file.path)
    name = questions_file if isinstance(behind.score, QuestionScore) else samples_file
    return name(score_file).as_posix()


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
