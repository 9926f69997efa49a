"""Evidence as a tree that a person reads: from each score back to the bytes and versions behind it."""

import io

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from driftledger.canonical import canonical_json
from driftledger.description_records import DemonstrationsCard, FidelityScore, TracScore
from driftledger.ledger.evidence import AnyScore, Behind, Evidence
from driftledger.ledger.lock import LockedFile
from driftledger.question_records import QuestionScore
from driftledger.records import ChainCard, ComponentCard, ScoreFile
from driftledger.shown import for_line


def as_text(evidence: Evidence) -> str:
    """The whole way from the scores to the commit; untrusted text in it is inert."""
    tree = Tree(_line(f"{evidence.name}, fingerprint {evidence.fingerprint}"))
    for behind in evidence.behind:
        _add_score(tree, behind)
    code = evidence.code
    state = "with uncommitted changes" if code.dirty else "clean"
    _add(tree, "code", f"git commit {code.commit} ({state})" if code.commit else "not under Git")
    console = Console(file=io.StringIO(), width=10_000_000, color_system=None)
    console.print(tree, soft_wrap=True)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]  # it is the StringIO above
    return "\n".join(line.rstrip() for line in text.splitlines())


def _add_score(tree: Tree, behind: Behind[AnyScore]) -> None:
    score = behind.score
    branch = _add(tree, "score", f"{score.benchmark} on {behind.on}{_headline(score)}")
    for key, value in sorted(score.metrics.items()):
        branch.add(_line(f"{key} = {value!r}"))
    for flag in score.flags:
        _add(branch, "to know", flag)
    for key, reason in sorted(score.absent.items()):
        _add(branch, "absent", f"{key}: {reason}")
    _add_file(branch, "score file", behind.score_file)
    if isinstance(score, QuestionScore):
        _add_answers(branch, behind, score)
    elif isinstance(score, TracScore):
        _add_descriptions(branch, behind, score)
    else:
        _add_images(branch, behind, score)
    _add_lock(branch, behind)


def _headline(score: AnyScore) -> str:
    coverage = f"coverage {score.scored}/{score.total}"
    if isinstance(score, ScoreFile):
        t, confidence = score.inputs.chain.iterations, score.inputs.settings["bootstrap"]["confidence"]
        value, low, high = (score.metrics[f"gc_at_{t}{end}"] for end in ("", "_low", "_high"))
        return f": GC@{t} = {value:.4f} ({confidence:.0%} interval {low:.4f} to {high:.4f}), {coverage}"
    if isinstance(score, TracScore):
        return f", described as {score.description}, read by {score.encoder}: {coverage}"
    return f": {coverage}"


def _add_images(branch: Tree, behind: Behind[AnyScore], score: ScoreFile | FidelityScore) -> None:
    """Chains and redrawings: the images that were drawn, the descriptions they were drawn from, the originals."""
    inputs, [images] = score.inputs, behind.collected.values()
    _add_component(branch, "encoder", inputs.encoder)
    if isinstance(score, FidelityScore) and score.inputs.ratings:
        _add(branch, "human ratings", canonical_json(score.inputs.ratings))
    records = _add(branch, "records", f"records.jsonl sha256 {inputs.records_sha256}")
    _add_chain(records, images, inputs.chain)
    _add_data(branch, "dataset", behind.data, inputs.dataset_digest)


def _add_chain(records: Tree, file: LockedFile, chain: ChainCard) -> None:
    images = _add_file(records, "images", file)
    _add_component(images, "generator", chain.generator)
    _add(images, "prompt", chain.generate_prompt)
    _add(images, "seed", f"{chain.seed}, and T = {chain.iterations}")
    descriptions = _add(records, "descriptions", "by the model below")
    _add_component(descriptions, "model", chain.model)
    _add(descriptions, "prompt", chain.describe_prompt)
    _add(descriptions, "at most", _length(chain.max_tokens))


def _add_descriptions(branch: Tree, behind: Behind[AnyScore], score: TracScore) -> None:
    card = score.inputs.descriptions
    _add_component(branch, "text encoder", score.inputs.encoder)
    descriptions = _add_file(branch, "descriptions", behind.collected["describe"])
    _add(descriptions, "digest", f"descriptions.jsonl sha256 {score.inputs.descriptions_sha256}")
    _add_component(descriptions, "model", card.model)
    _add(descriptions, "prompt", card.prompt)
    _add(descriptions, "at most", ", ".join(map(_length, card.max_tokens)))
    _add(descriptions, "seed", str(card.seed))
    if card.demonstrations:
        _add_demonstrations(descriptions, card.demonstrations)
    _add_data(branch, "dataset", behind.data, score.inputs.dataset_digest)


def _add_demonstrations(branch: Tree, card: DemonstrationsCard) -> None:
    shots = ", ".join(map(str, card.shots))
    shown = _add(branch, "demonstrations", f"{card.choose}, {shots} per image, from the support set")
    if card.encoder:
        _add_component(shown, "similarity seen by", card.encoder)
    if card.by:
        _add_component(shown, "described by", card.by)


def _length(max_tokens: int | None) -> str:
    return "the model's own limit" if max_tokens is None else f"{max_tokens} tokens"


def _add_answers(branch: Tree, behind: Behind[AnyScore], score: QuestionScore) -> None:
    grades = score.inputs.grades
    graded = _add_file(branch, "grades", behind.collected["grade"])
    _add(graded, "parser", f"version {grades.parser}")
    if grades.judge:
        _add_component(graded, "judge", grades.judge)
        _add(graded, "prompt", grades.grade_prompt or "")
    given = _add_file(graded, "answers", behind.collected["answer"])
    _add_component(given, "model", grades.answers.model)
    _add(given, "prompt", grades.answers.prompt)
    _add_data(given, "question set", behind.data, score.inputs.question_set_digest)


def _add_data(branch: Tree, what: str, file: LockedFile, digest: str) -> None:
    _add(_add_file(branch, what, file), "digest", digest)


def _add_lock(branch: Tree, behind: Behind[AnyScore]) -> None:
    lock = _add(branch, "dvc.lock", ", ".join(behind.stages))
    for name, entry in behind.stages.items():
        stage = _add(lock, name, entry.cmd if isinstance(entry.cmd, str) else "; ".join(entry.cmd))
        for dep in entry.deps:
            _add_file(stage, "read", dep)
        for out in entry.outs:
            _add_file(stage, "wrote", out)


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
