"""The branch of one score: encoder, records, images, generator, descriptions, model, dataset and the lock."""

from collections.abc import Set

from rich.tree import Tree

from driftledger.benchmarks._questions.records import QuestionScore
from driftledger.benchmarks.description_records import DemonstrationsCard, FidelityScore, TracScore
from driftledger.benchmarks.genception.records import ChainCard, ScoreFile
from driftledger.core.canonical import canonical_json
from driftledger.ledger.audit.branches import add, add_component, add_file, line
from driftledger.ledger.audit.formulas import DATA, DRAWN, ENCODER, EVERYTHING, GRADES, RATINGS, SAID
from driftledger.ledger.lineage import AnyScore, Behind
from driftledger.ledger.lock import LockedFile


def add_score(tree: Tree, behind: Behind[AnyScore]) -> None:
    """The score with all its numbers, and everything behind it."""
    score = behind.score
    branch = add(tree, "score", f"{score.benchmark} on {behind.on}{_headline(score)}")
    for key, value in sorted(score.metrics.items()):
        branch.add(line(f"{key} = {value!r}"))
    for flag in score.flags:
        add(branch, "to know", flag)
    for key, reason in sorted(score.absent.items()):
        add(branch, "absent", f"{key}: {reason}")
    for role, versions in sorted(score.served.items()):
        add(branch, f"{role} served as", ", ".join(f"{each} ({calls} calls)" for each, calls in versions.items()))
    add_file(branch, "score file", behind.score_file)
    add_inputs(branch, behind, EVERYTHING)
    add_lock(branch, behind)


def add_inputs(branch: Tree, behind: Behind[AnyScore], needed: Set[str]) -> None:
    """What a score was computed from, as far as it is ``needed``; see :mod:`driftledger.ledger.audit.formulas`."""
    score = behind.score
    if isinstance(score, QuestionScore):
        _add_answers(branch, behind, score, needed)
    elif isinstance(score, TracScore):
        _add_descriptions(branch, behind, score, needed)
    else:
        _add_images(branch, behind, score, needed)


def add_lock(branch: Tree, behind: Behind[AnyScore]) -> None:
    """The entries of ``dvc.lock`` from the data to the score."""
    lock = add(branch, "dvc.lock", ", ".join(behind.stages))
    for name, entry in behind.stages.items():
        stage = add(lock, name, entry.cmd if isinstance(entry.cmd, str) else "; ".join(entry.cmd))
        for dep in entry.deps:
            add_file(stage, "read", dep)
        for out in entry.outs:
            add_file(stage, "wrote", out)


def _headline(score: AnyScore) -> str:
    coverage = f"coverage {score.scored}/{score.total}"
    if isinstance(score, ScoreFile):
        t, confidence = score.inputs.chain.iterations, score.inputs.settings["bootstrap"]["confidence"]
        value, low, high = (score.metrics[f"gc_at_{t}{end}"] for end in ("", "_low", "_high"))
        return f": GC@{t} = {value:.4f} ({confidence:.0%} interval {low:.4f} to {high:.4f}), {coverage}"
    if isinstance(score, TracScore):
        return f", described as {score.description}, read by {score.encoder}: {coverage}"
    return f": {coverage}"


def _add_images(branch: Tree, behind: Behind[AnyScore], score: ScoreFile | FidelityScore, needed: Set[str]) -> None:
    """Chains and redrawings: the images that were drawn, the descriptions they were drawn from, the originals."""
    inputs, [images] = score.inputs, behind.collected.values()
    if ENCODER in needed:
        add_component(branch, "encoder", inputs.encoder)
    if RATINGS in needed and isinstance(score, FidelityScore) and score.inputs.ratings:
        add(branch, "human ratings", canonical_json(score.inputs.ratings))
    if SAID in needed or DRAWN in needed:
        records = add(branch, "records", f"records.jsonl sha256 {inputs.records_sha256}")
        _add_chain(records, images, inputs.chain, needed)
    if DATA in needed:
        _add_data(branch, "dataset", behind.data, inputs.dataset_digest)


def _add_chain(records: Tree, file: LockedFile, chain: ChainCard, needed: Set[str]) -> None:
    if DRAWN in needed:
        images = add_file(records, "images", file)
        add_component(images, "generator", chain.generator)
        add(images, "prompt", chain.generate_prompt)
        add(images, "seed", f"{chain.seed}, and T = {chain.iterations}")
        add(images, "of each image", "its SHA-256, seed, revised prompt and parent are in the records")
    descriptions = add(records, "descriptions", "by the model below")
    add_component(descriptions, "model", chain.model)
    add(descriptions, "prompt", chain.describe_prompt)
    add(descriptions, "at most", _length(chain.max_tokens))


def _add_descriptions(branch: Tree, behind: Behind[AnyScore], score: TracScore, needed: Set[str]) -> None:
    card = score.inputs.descriptions
    if ENCODER in needed:
        add_component(branch, "text encoder", score.inputs.encoder)
    descriptions = add_file(branch, "descriptions", behind.collected["describe"])
    add(descriptions, "digest", f"descriptions.jsonl sha256 {score.inputs.descriptions_sha256}")
    add_component(descriptions, "model", card.model)
    add(descriptions, "prompt", card.prompt)
    add(descriptions, "at most", ", ".join(map(_length, card.max_tokens)))
    add(descriptions, "seed", str(card.seed))
    if card.demonstrations:
        _add_demonstrations(descriptions, card.demonstrations)
    if DATA in needed:
        _add_data(branch, "dataset", behind.data, score.inputs.dataset_digest)


def _add_demonstrations(branch: Tree, card: DemonstrationsCard) -> None:
    shots = ", ".join(map(str, card.shots))
    shown = add(branch, "demonstrations", f"{card.choose}, {shots} per image, from the support set")
    if card.encoder:
        add_component(shown, "similarity seen by", card.encoder)
    if card.by:
        add_component(shown, "described by", card.by)


def _length(max_tokens: int | None) -> str:
    return "the model's own limit" if max_tokens is None else f"{max_tokens} tokens"


def _add_answers(branch: Tree, behind: Behind[AnyScore], score: QuestionScore, needed: Set[str]) -> None:
    grades = score.inputs.grades
    if GRADES not in needed:
        return
    graded = add_file(branch, "grades", behind.collected["grade"])
    add(graded, "digest", f"grades.jsonl sha256 {score.inputs.grades_sha256}")
    add(graded, "parser", f"version {grades.parser}")
    if grades.judge:
        add_component(graded, "judge", grades.judge)
        add(graded, "prompt", grades.grade_prompt or "")
    given = add_file(graded, "answers", behind.collected["answer"])
    add(given, "digest", f"answers.jsonl sha256 {score.inputs.answers_sha256}")
    add_component(given, "model", grades.answers.model)
    add(given, "prompt", grades.answers.prompt)
    _add_data(given, "question set", behind.data, score.inputs.question_set_digest)


def _add_data(branch: Tree, what: str, file: LockedFile, digest: str) -> None:
    add(add_file(branch, what, file), "digest", digest)
