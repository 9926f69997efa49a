"""What each sample, question or image is worth in a score: what two runs are compared over.

The files of per-sample values stand in Git and belong to a version of a score: they are read by the MD5 that the run's
lock entry gives them, wherever such bytes are still to be had.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from driftledger.benchmarks._questions.records import QuestionOutcome, QuestionScore
from driftledger.benchmarks.description_records import FidelityScore, Redrawn, Retrieved, TracScore
from driftledger.benchmarks.genception.records import SampleScore, ScoreFile
from driftledger.core.errors import LedgerError
from driftledger.core.files import parse_jsonl
from driftledger.data.question_sets.files import QUESTIONS, QuestionEntry
from driftledger.data.records import ONE_CATEGORY
from driftledger.ledger.lineage import AnyScore, Behind
from driftledger.ledger.lock import LockedFile
from driftledger.ledger.objects.contents import Contents
from driftledger.metrics.exact import exact_mean

PERCENT = 100.0
TENTHS = 10


class Values(NamedTuple):
    """One metric's values: the score is the mean over categories of the mean over units."""

    values: dict[str, float]
    """Sample, or image, → value; a unit without one is not in it."""
    categories: dict[str, str]


class Repeats(NamedTuple):
    """One metric's values over repeats: the score is ``scale`` times the mean over questions of sum / count."""

    sums: dict[str, int]
    counts: dict[str, int]
    """Question → how many of its repeats could be read; a question of which none could is not in it."""
    images: dict[str, str]
    scale: float


def headlines(score: AnyScore, t: int | None = None) -> dict[str, float]:
    """The metrics that a score is known by, as far as it has them: name → value; higher is better for all.

    Args:
        t: GenCeption's number of iterations, where another than the score's own T is asked for.
    """
    if isinstance(score, ScoreFile):
        t = score.inputs.chain.iterations if t is None else t
        names: tuple[str, ...] = (f"gc_at_{t}", f"similarity_at_{t}")
    elif isinstance(score, TracScore):
        names = "top1", "class_mean"
    elif isinstance(score, FidelityScore):
        names = "ssim", "clip_s", "clip_s_i", "image_similarity"
    else:
        names = ("total",) if score.benchmark == "mm_vet" else ("score",)
    return {name: score.metrics[name] for name in names if name in score.metrics}


def per_sample(behind: Behind[AnyScore], contents: Contents, t: int | None = None) -> Mapping[str, Values | Repeats]:
    """Headline metric → its values, read from the files that belong to this very version of the score.

    Raises:
        LedgerError: the files are not to be had any more.
        StoreError: a file is not what its name says.
    """
    of: dict[type, Callable[[Any, bytes, Contents, int | None], Mapping[str, Values | Repeats]]] = {
        ScoreFile: _of_chains,
        TracScore: _of_trac,
        FidelityScore: _of_redrawings,
        QuestionScore: _of_questions,
    }
    file = rows_file(behind)
    return of[type(behind.score)](behind, _read(contents, file), contents, t)


def rows_file(behind: Behind[AnyScore]) -> LockedFile:
    """The file of per-sample values that was written with a score file.

    Raises:
        LedgerError: the evidence speaks of none.
    """
    stem = behind.score_file.path.removesuffix(".json")
    for stage in behind.stages.values():
        for out in stage.outs:
            if out.path in (f"{stem}.samples.jsonl", f"{stem}.questions.jsonl"):
                return out
    raise LedgerError(f"the evidence speaks of no per-sample values beside {behind.score_file.path}")


def _of_chains(behind: Behind[ScoreFile], data: bytes, _: Contents, t: int | None) -> Mapping[str, Values]:
    rows = parse_jsonl(data, SampleScore, rows_file(behind).path)
    t = behind.score.inputs.chain.iterations if t is None else t
    categories = {row.sample: row.category for row in rows}
    of = {f"gc_at_{t}": {row.sample: row.gc for row in rows}}
    of |= {f"similarity_at_{t}": {row.sample: row.similarity for row in rows}}
    return {
        name: Values({s: value for s, some in each.items() if (value := some[t - 1]) is not None}, categories)
        for name, each in of.items()
    }


def _of_trac(behind: Behind[TracScore], data: bytes, _: Contents, __: int | None) -> Mapping[str, Values]:
    """Scored are descriptions of classes of which a support description is left; one of unknown words is wrong."""
    rows = parse_jsonl(data, Retrieved, rows_file(behind).path)
    rows = [row for row in rows if row.outcome.goes_on and row.label in behind.score.by_class]
    categories = {row.sample: ONE_CATEGORY for row in rows}
    return {
        "top1": Values({row.sample: PERCENT * (row.top1 == row.label) for row in rows}, categories),
        "class_mean": Values({row.sample: PERCENT * (row.class_mean == row.label) for row in rows}, categories),
    }


def _of_redrawings(behind: Behind[FidelityScore], data: bytes, _: Contents, __: int | None) -> Mapping[str, Values]:
    rows = parse_jsonl(data, Redrawn, rows_file(behind).path)
    categories = {row.sample: ONE_CATEGORY for row in rows}
    return {
        name: Values({row.sample: row.metrics[name] for row in rows if name in row.metrics}, categories)
        for name in headlines(behind.score)
    }


def _of_questions(
    behind: Behind[QuestionScore], data: bytes, contents: Contents, _: int | None
) -> Mapping[str, Values | Repeats]:
    rows = parse_jsonl(data, QuestionOutcome, rows_file(behind).path)
    source = f"{behind.data.path}/{QUESTIONS}"
    entries = parse_jsonl(_read(contents, behind.data, QUESTIONS), QuestionEntry, source)
    asked = {entry.id: entry for entry in entries}
    unknown = [row.question for row in rows if row.question not in asked]
    if unknown:
        raise LedgerError(f"{rows_file(behind).path} has the question {unknown[0]!r:.80}, which {source} has not")
    if behind.score.benchmark == "mme":
        return {"score": _of_pairs(rows, asked)}
    name, steps = ("total", TENTHS) if behind.score.benchmark == "mm_vet" else ("score", 1)
    read = {row.question: [round(steps * value) for value in row.values if value is not None] for row in rows}
    read = {question: values for question, values in read.items() if values}
    sums = {question: sum(values) for question, values in read.items()}
    counts = {question: len(values) for question, values in read.items()}
    return {name: Repeats(sums, counts, {q: asked[q].image_sha256 for q in read}, PERCENT / steps)}


def _of_pairs(rows: list[QuestionOutcome], asked: Mapping[str, QuestionEntry]) -> Values:
    """MME: what an image's two questions add to its category's accuracy + accuracy+, of 0 to 200."""
    pairs: dict[str, list[float | None]] = {}
    categories: dict[str, str] = {}
    for row in rows:
        category = asked[row.question].category or ONE_CATEGORY
        image = f"{category}/{asked[row.question].image_id}"
        pairs.setdefault(image, []).extend(row.values)
        categories[image] = category
    read = {image: [value for value in pair if value is not None] for image, pair in pairs.items()}
    whole = {image: values for image, values in read.items() if len(values) == len(pairs[image])}
    worth = {image: PERCENT * (exact_mean(values) + all(values)) for image, values in whole.items()}
    return Values(worth, categories)


def _read(contents: Contents, file: LockedFile, member: str = "") -> bytes:
    """The bytes of a file, or of a member of a folder, which are fetched from the remote where they are not at hand."""
    where = f"{file.path}/{member}" if member else file.path
    path = _path(contents, file, member, where)
    if path is None:
        contents.fetch([file])
        path = _path(contents, file, member, where)
    if path is None:
        raise LedgerError(f"{where} of that version (md5 {file.md5}) is nowhere here and in no remote")
    return path.read_bytes()


def _path(contents: Contents, file: LockedFile, member: str, where: str) -> Path | None:
    try:
        md5 = contents.manifest(file).get(member)
    except LedgerError:
        return None
    return contents.path(md5, where) if md5 else None
