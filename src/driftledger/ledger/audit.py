"""Evidence as a tree that a person reads: from each score back to the bytes and versions behind it."""

import io
from collections.abc import Mapping

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from driftledger.canonical import canonical_json
from driftledger.ledger.evidence import Behind, BehindQuestions, Evidence
from driftledger.ledger.lock import LockedFile, LockEntry
from driftledger.records import ComponentCard
from driftledger.shown import for_line


def as_text(evidence: Evidence) -> str:
    """The whole way from the scores to the commit; untrusted text in it is inert."""
    tree = Tree(_line(f"{evidence.name}, fingerprint {evidence.fingerprint}"))
    for behind in evidence.behind:
        _add_score(tree, behind)
    for answered in evidence.questions:
        _add_questions(tree, answered)
    code = evidence.code
    state = "with uncommitted changes" if code.dirty else "clean"
    _add(tree, "code", f"git commit {code.commit} ({state})" if code.commit else "not under Git")
    console = Console(file=io.StringIO(), width=10_000_000, color_system=None)
    console.print(tree, soft_wrap=True)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]  # it is the StringIO above
    return "\n".join(line.rstrip() for line in text.splitlines())


def _add_score(tree: Tree, behind: Behind) -> None:
    score = behind.score
    chain = score.inputs.chain
    t = chain.iterations
    branch = _add(tree, "score", f"{score.benchmark} on {score.dataset}: {_headline(behind)}")
    for key, value in sorted(score.metrics.items()):
        branch.add(_line(f"{key} = {value!r}"))
    for flag in score.flags:
        _add(branch, "to know", flag)
    _add_file(branch, "score file", behind.score_file)
    _add_component(branch, "encoder", score.inputs.encoder)
    records = _add(branch, "records", f"records.jsonl sha256 {score.inputs.records_sha256}")
    images = _add_file(records, "images", behind.images)
    _add_component(images, "generator", chain.generator)
    _add(images, "prompt", chain.generate_prompt)
    _add(images, "seed", f"{chain.seed}, and T = {t}")
    descriptions = _add(records, "descriptions", "by the model below")
    _add_component(descriptions, "model", chain.model)
    _add(descriptions, "prompt", chain.describe_prompt)
    data = _add_file(branch, "dataset", behind.dataset)
    _add(data, "digest", score.inputs.dataset_digest)
    _add_lock(branch, behind.stages)


def _add_lock(branch: Tree, stages: Mapping[str, LockEntry]) -> None:
    lock = _add(branch, "dvc.lock", ", ".join(stages))
    for name, entry in stages.items():
        stage = _add(lock, name, entry.cmd if isinstance(entry.cmd, str) else "; ".join(entry.cmd))
        for dep in entry.deps:
            _add_file(stage, "read", dep)
        for out in entry.outs:
            _add_file(stage, "wrote", out)


def _add_questions(tree: Tree, answered: BehindQuestions) -> None:
    score, grades = answered.score, answered.score.inputs.grades
    said = f"coverage {score.scored}/{score.total}"
    branch = _add(tree, "score", f"{score.benchmark} on {score.question_set}: {said}")
    for key, value in sorted(score.metrics.items()):
        branch.add(_line(f"{key} = {value!r}"))
    for flag in score.flags:
        _add(branch, "to know", flag)
    _add_file(branch, "score file", answered.score_file)
    graded = _add_file(branch, "grades", answered.grades)
    _add(graded, "parser", f"version {grades.parser}")
    if grades.judge:
        _add_component(graded, "judge", grades.judge)
        _add(graded, "prompt", grades.grade_prompt or "")
    given = _add_file(graded, "answers", answered.answers)
    _add_component(given, "model", grades.answers.model)
    _add(given, "prompt", grades.answers.prompt)
    data = _add_file(given, "question set", answered.question_set)
    _add(data, "digest", score.inputs.question_set_digest)
    _add_lock(branch, answered.stages)


def _headline(behind: Behind) -> str:
    score, t = behind.score, behind.score.inputs.chain.iterations
    confidence = score.inputs.settings["bootstrap"]["confidence"]
    return (
        f"GC@{t} = {score.metrics[f'gc_at_{t}']:.4f} "
        f"({confidence:.0%} interval {score.metrics[f'gc_at_{t}_low']:.4f} to {score.metrics[f'gc_at_{t}_high']:.4f}), "
        f"coverage {score.scored}/{score.total}"
    )


def _add_component(tree: Tree, what: str, card: ComponentCard) -> None:
    branch = _add(tree, what, f"{card.name}, fingerprint {card.fingerprint}")
    _add(branch, "provider", f"{card.provider}, version {card.version}")
    _add(branch, "settings", canonical_json(card.settings))
    if card.identity:
        _add(branch, "identity", canonical_json(card.identity))


def _add_file(tree: Tree, what: str, file: LockedFile) -> Tree:
    count = f", {file.nfiles} files" if file.nfiles is not None else ""
    return _add(tree, what, f"{file.path}, md5 {file.md5}{count}")


def _add(tree: Tree, what: str, said: str) -> Tree:
    return tree.add(_line(f"{what}: {said}"))


def _line(text: str) -> Text:
    return Text(for_line(text))
