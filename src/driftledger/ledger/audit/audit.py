"""Evidence as a tree that a person reads, and as JSON: from what was asked back to the bytes and versions behind it."""

from collections.abc import Set
from typing import Any

from rich.console import Group
from rich.tree import Tree

from driftledger.benchmarks.base import NEEDED_FOR, Input, base_role
from driftledger.benchmarks.coverage import how_many
from driftledger.benchmarks.records import RECORDS
from driftledger.core.canonical import canonical_json
from driftledger.core.terminal import line, lines
from driftledger.ledger.audit.image_audit import image_json, image_tree
from driftledger.ledger.audit.numbers import Number
from driftledger.ledger.audit.sources import LoggedRun, Sources
from driftledger.ledger.audit.targets import ImageTarget, Origin, RunTarget
from driftledger.ledger.audit.tree import add, add_all, add_component, add_file, inert_json
from driftledger.ledger.lineage import Lineage

_RECORDED = {"packages.txt": "packages", "dirty.patch": "dirty patch"}
"""What a run in MLflow carries beside its evidence."""

_EVERYTHING = frozenset(Input)

_SHORT = 12
"""Digits of a commit in a short answer."""

_PROVES: dict[Origin | None, str] = {
    "dvc.lock": "from Git and DVC: which bytes each stage read and wrote, by MD5, and with which settings; whoever has "
    "the cache or the remote can fetch these bytes and hash them with 'driftledger verify'",
    "git": "from Git history: the score file and the dvc.lock that were committed together; the bytes that it speaks "
    "of can be fetched and hashed as long as the DVC cache or remote keeps them",
    "mlflow": "from MLflow alone: what the run said of itself when it was tracked, lock entries included; that the "
    "bytes are still these takes the DVC cache or remote",
    None: "from Git and DVC: which lists of images have this hash in them",
}
"""Where evidence is from, or None for an image, of which only the ledger's files speak → what that alone can prove."""


def as_tree(target: RunTarget | ImageTarget, sources: Sources) -> Group:
    """The whole way from what was asked back to bytes, versions and commit, and what that proves."""
    if isinstance(target, ImageTarget):
        return Group(image_tree(target), lines(_proof(sources, None)))
    run = f"{target.evidence.name}, fingerprint {target.evidence.fingerprint}"
    of = f"of {run}" if target.is_run else "of no run that is selected here"
    if target.number is not None:
        tree = Tree(line(f"{target.number.name} = {target.number.value!r}, {of}"))
        _add_number(tree, target.number)
    elif target.lineage is not None:
        tree = Tree(line(f"{target.lineage.score_file.path}, {of}"))
        _add_score(tree, target.lineage)
    else:
        tree = Tree(line(run))
        for lineage in target.evidence.lineages:
            _add_score(tree, lineage)
    _add_code(tree, target)
    return Group(tree, lines(_proof(sources, target.known)))


def as_json(target: RunTarget | ImageTarget, sources: Sources) -> str:
    """The same for programs. Of a run it is its evidence, with ``known_from``, ``recorded`` and ``proof`` beside it."""
    if isinstance(target, ImageTarget):
        return inert_json(image_json(target) | {"proof": _proof(sources, None)})
    evidence = target.evidence.model_dump(mode="json", by_alias=True)
    asked = evidence
    if target.number is not None:
        asked = _number_json(target.number)
    elif target.lineage is not None:
        asked = target.lineage.model_dump(mode="json", by_alias=True)
    if asked is not evidence:
        owner = {key: evidence[key] for key in ("name", "combination", "fingerprint")}
        asked |= {"run": owner if target.is_run else None, "code": evidence["code"]}
    recorded, proof = _recorded(target.logged), _proof(sources, target.known)
    return inert_json(asked | {"known_from": target.known, "recorded": recorded, "proof": proof})


def _add_score(tree: Tree, lineage: Lineage) -> None:
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
    _add_inputs(branch, lineage, _EVERYTHING)
    _add_lock(branch, lineage)


def _headline(lineage: Lineage) -> str:
    """The first headline with its interval, and how much was scored."""
    score, spec = lineage.score, lineage.spec
    coverage = f"coverage {how_many(score)}"
    key, value = spec.headline(score)
    metric = spec.metric(key)
    if value is None or metric is None:
        return coverage
    interval, said = score.interval(key), f"{metric.named(key)} = {value:.4f}"
    if interval is not None:
        confidence = score.confidence
        said += f" ({confidence:.0%} interval {interval.low:.4f} to {interval.high:.4f})"
    return f"{said}, {coverage}"


def _add_inputs(branch: Tree, lineage: Lineage, needed: Set[Input]) -> None:
    """What a score was computed from, as far as it is ``needed``."""
    score = lineage.score
    for role, card in score.components.items():
        if NEEDED_FOR[base_role(role)] & needed:
            add_component(branch, base_role(role).replace("_", " "), card)
    if needed & {Input.DESCRIPTIONS, Input.DRAWN, Input.ANSWERS, Input.WITNESSES}:
        add_all(branch, score.inputs.protocol, *score.inputs.protocol)
        for stage, file in lineage.collected.items():
            folder = add_file(branch, stage, file)
            add(folder, RECORDS, f"sha256 {score.inputs.records.get(stage, 'not known')}")
    if Input.RATINGS in needed:
        for setting, digest in lineage.beside.items():
            add(branch, setting, f"sha256 {digest}")
    if Input.DATA in needed:
        data = add_file(branch, lineage.spec.data.name.replace("_", " "), lineage.data)
        add(data, "digest", score.inputs.data_digest)


def _add_lock(branch: Tree, lineage: Lineage) -> None:
    """The entries of ``dvc.lock`` from the data to the score."""
    lock = add(branch, "dvc.lock", ", ".join(lineage.stages))
    for name, entry in lineage.stages.items():
        stage = add(lock, name, entry.cmd if isinstance(entry.cmd, str) else "; ".join(entry.cmd))
        for dep in entry.deps:
            add_file(stage, "read", dep)
        for out in entry.outs:
            add_file(stage, "wrote", out)


def _add_number(tree: Tree, number: Number) -> None:
    """How it is computed, and what of the score's inputs it needs."""
    lineage, metric = number.lineage, number.metric
    if metric is not None:
        computed = add(tree, "computed", number.formula or metric.formula)
        add(computed, "function", metric.function)
        if metric.published:
            add(computed, "published", metric.published)
        add(computed, "settings", canonical_json(lineage.score.inputs.settings))
        add(computed, "of", f"{lineage.score.counted} of {lineage.score.total}")
    add(tree, "values behind it", lineage.rows_file.path)
    branch = add_file(tree, "score file", lineage.score_file)
    _add_inputs(branch, lineage, metric.needs if metric else _EVERYTHING)
    _add_lock(tree, lineage)


def _number_json(number: Number) -> dict[str, Any]:
    lineage, metric = number.lineage, number.metric
    needs, computed = _EVERYTHING, None
    if metric is not None:
        needs, function, published = metric.needs, metric.function, metric.published
        computed = {"how": number.formula, "function": function, "published": published, "from": sorted(needs)}
    evidence = lineage.model_dump(mode="json", by_alias=True)
    cards = evidence["score"]["components"]
    return {
        "metric": number.name,
        "value": number.value,
        "computed": computed,
        "settings": lineage.score.inputs.settings,
        "values": lineage.rows_file.path,
        "components": {role: card for role, card in cards.items() if needs & NEEDED_FOR[base_role(role)]},
        **{key: evidence[key] for key in ("score_file", "data", "collected", "stages")},
    }


def code_of(run: RunTarget, *, short: bool = False) -> str:
    """The code now, or in the commit that has the score; of a run that only MLflow knows, as that noted it."""
    here, noted = run.evidence.code, run.logged.evidence().get("code") or {} if run.logged else {}
    if run.known == "mlflow":
        return _commit(noted.get("commit"), noted.get("dirty"), short)
    if run.known == "git":
        if short:
            return f"{_commit(here.commit, None, short)} has the scores; their code is unknown"
        return f"the scores stand in {_commit(here.commit, None)}; which code gave them is not in Git"
    return _commit(here.commit, here.dirty, short)


def _add_code(tree: Tree, run: RunTarget) -> None:
    """The same, and what was noted when the run was shown in MLflow."""
    if run.known != "mlflow":
        add(tree, "code", code_of(run))
    logged = run.logged
    if logged is None:
        add(tree, "packages and dirty patch", "not recorded: they are artifacts of a run in MLflow")
        return
    code = logged.evidence().get("code") or {}
    commit = _commit(code.get("commit"), bool(code.get("dirty")))
    branch = add(tree, "code", f"{commit}, when MLflow run {logged.run_id} was made")
    recorded = _recorded(logged)
    for file, what in _RECORDED.items():
        without = "none" if file == "dirty.patch" and code.get("dirty") is False else "not recorded"
        add(branch, what, recorded.get(file, without))


def _commit(commit: object, dirty: object, short: bool = False) -> str:
    state = "" if dirty is None else " (with uncommitted changes)" if dirty else " (clean)"
    return f"git commit {str(commit)[: _SHORT if short else None]}{state}" if commit else "not under Git"


def _recorded(logged: LoggedRun | None) -> dict[str, str]:
    """Where the package list and the dirty patch are."""
    if logged is None:
        return {}
    at = f"artifact of run {logged.run_id} in MLflow at {logged.address}"
    return {file: f"{file}, {at}" for file in logged.files() if file in _RECORDED}


def _proof(sources: Sources, known: Origin | None) -> list[str]:
    """A sentence on each source: what an audit went by, and what that alone can prove."""
    lines = [_PROVES[known]]
    if known != "mlflow" and sources.why_not is not None:
        lines.append(f"MLflow was not asked: {sources.why_not}")
    elif known != "mlflow" and not sources.asked:
        lines.append("MLflow was not asked: it was not needed")
    if known == "mlflow" and not sources.outs:
        lines.append("Git and DVC were not asked: there is no dvc.lock here")
    return lines
