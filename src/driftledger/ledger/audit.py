"""What is behind a score, where an image is used, and which scores a version touched.

Answers come from ``dvc.lock``, the score files, Git's history and the folders of DVC, of anybody's
checkout: no program is run, no link is followed out of it, and no remote is asked that only the
checkout names.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from driftledger.benchmarks.base import ROLES, SCORES, Metric
from driftledger.benchmarks.records import CollectedCard, CollectedRecord
from driftledger.benchmarks.registry import benchmark, find_score
from driftledger.benchmarks.score import SCORE, Score, base_key, interval_of
from driftledger.core.canonical import Json, canonical_json, md5_bytes, sha256_bytes, sha256_file
from driftledger.core.errors import ConfigError, DataError, DriftledgerError, LedgerError, first_few
from driftledger.core.files import Record, parse_json, read_json, read_regular
from driftledger.core.media import png_bytes
from driftledger.core.paths import Combination
from driftledger.data.datasets.decode import decode
from driftledger.data.records import DatasetCard, QuestionEntry, QuestionSetCard, SampleEntry
from driftledger.ledger.lineage import Evidence, Folder, Lineage, Published, read_all_evidence
from driftledger.ledger.lock import locked_now
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.git import Commit, CommitTree, Git
from driftledger.ledger.published import read_published, runs_of_mlflow
from driftledger.metrics.intervals import ConfidenceInterval
from driftledger.project.project import Project

_LISTS: dict[str, tuple[str, type[Record], str, type[Record]]] = {
    "samples.jsonl": ("sample", SampleEntry, "dataset.json", DatasetCard),
    "questions.jsonl": ("question", QuestionEntry, "question_set.json", QuestionSetCard),
    "records.jsonl": ("drawn", CollectedRecord, "components.json", CollectedCard),
}
"""A file that lists images → what these are; the type of its lines; the card beside it, and its
type."""
_VALUE = re.compile(r"(-?[0-9]*[.,]?[0-9]+) ?%?")
_RUN_OF_MLFLOW = re.compile("[0-9a-f]{32}")
_MOST_PIXELS = 100_000_000


class Number(NamedTuple):
    """One number of a score file."""

    key: str
    """As the score file has it: ``gc_at_5``, ``category/cats/gc_at_5``."""
    value: float
    lineage: Lineage

    @property
    def name(self) -> str:
        """With its benchmark and data in front."""
        return f"{self.lineage.place}/{self.key}"

    @property
    def metric(self) -> Metric | None:
        """The row of its benchmark's table; None for one that no table has."""
        return self.lineage.spec.metric(self.key.rpartition("/")[2])

    @property
    def title(self) -> str:
        """What tables call it: ``GC@5``."""
        return self.lineage.spec.titled(self.key.rpartition("/")[2])

    @property
    def interval(self) -> ConfidenceInterval | None:
        """Its interval, where it has one."""
        group, _, key = self.key.rpartition("/")
        kind, _, name = group.partition("/")
        return interval_of(
            self.lineage.score.groups[kind][name] if group else self.lineage.score.metrics, key
        )


class Offer(NamedTuple):
    """A number that a text could mean."""

    number: Number
    evidence: Evidence
    selected: bool
    """Whether ``params.yaml`` selects its run; a published one that only Git has is not."""

    @property
    def target(self) -> str:
        """The argument of ``driftledger audit`` that asks for it."""
        key = self.number.key
        scores = [each.score for each in self.evidence.lineages]
        name = (
            key if sum(key in dict(score.numbers()) for score in scores) == 1 else self.number.name
        )
        run = self.evidence.combination.path if self.selected else self.evidence.fingerprint[:12]
        return f"{run}:{name}"

    @property
    def unlikely(self) -> tuple[bool, bool, bool, bool]:
        """Sort the likeliest first: a slide seldom shows an interval's end, no headline, or the
        number of a group."""
        key = self.number.key
        metric = self.number.metric
        return (
            not self.selected,
            base_key(key) != key,
            metric is None or not metric.headline,
            "/" in key,
        )


class RunTarget(NamedTuple):
    """A run, or the one score file or number of it that was asked for."""

    evidence: Evidence
    lineage: Lineage | None = None
    number: Number | None = None
    source: Literal["dvc.lock", "git"] = "dvc.lock"
    """Where it is from: the working tree or a commit."""


class ImageTarget(NamedTuple):
    """An image, wherever it is used."""

    sha256: str
    places: list[Json]
    """Ready for JSON: ``role``, ``folder``, ``file``, its line of the list, ``card``, ``parent``
    and ``scores``."""
    unknown: list[str]
    """Folders that could not be searched, and why."""
    converted: bool = False
    """Whether the project has not these bytes, but the PNG that a dataset makes of them."""


class Sources:
    """What is known of the scores in a project."""

    def __init__(self, project: Project) -> None:
        self.root = project.root
        self.git = Git.around(project.root)
        self.contents = Contents(project.root, trust=project.own_code)
        self.selected = project.selected
        self.combinations = project.combinations
        self.incomplete = ""
        """What is wrong with a run that :attr:`current` leaves out, after a semicolon."""

    @cached_property
    def current(self) -> list[Evidence]:
        """The runs, as far as their evidence is complete."""
        try:
            return self.runs(self.combinations)
        except DriftledgerError as error:
            self.incomplete = f"; {error}"
            runs = []
            for combination in self.combinations:
                with suppress(DriftledgerError):
                    runs += self.runs([combination])
            return runs

    @property
    def lineages(self) -> list[tuple[Evidence, Lineage]]:
        """Every score of the runs, once, with the first run that shows it."""
        shown: dict[str, tuple[Evidence, Lineage]] = {}
        for run in self.current:
            for each in run.lineages:
                shown.setdefault(each.score_path, (run, each))
        return [*shown.values()]

    def runs(self, combinations: Sequence[Combination]) -> list[Evidence]:
        """Their evidence; errors as in :func:`~driftledger.ledger.lineage.read_all_evidence`."""
        return read_all_evidence(self.root, self.selected, combinations, self.contents.here)

    def find(self, text: str) -> RunTarget | None:
        """A run by its name, ``model/generator/encoder``, the id of its run in MLflow, or eight or
        more digits of its fingerprint; one that is not here but published, from the newest commit
        that has its scores.

        Raises:
            LedgerError: its scores are incomplete, or several runs begin so.
        """
        for combination in self.combinations:
            if text in (str(combination), combination.path):
                return RunTarget(self.runs([combination])[0])
        if _RUN_OF_MLFLOW.fullmatch(text):
            text = runs_of_mlflow(self.contents.here).get(text, text)
        if not re.fullmatch("[0-9a-f]{8,64}", text):
            return None
        known: list[Evidence | Published] = [*self.current, *read_published(self.root)]
        matches = [run for run in known if run.fingerprint.startswith(text)]
        if len({run.fingerprint for run in matches}) > 1:
            raise LedgerError(
                f"several runs have a fingerprint that begins with {text}; give more of it"
            )
        for run in matches:
            if isinstance(run, Evidence):
                return RunTarget(run)
            former = self._from_git(run)
            if former is not None:
                return RunTarget(former, source="git")
        return None

    def former(self) -> Iterator[tuple[Evidence, Lineage]]:
        """Every score of published runs that only Git has, once."""
        here = {run.fingerprint for run in self.current}
        seen = [lineage.score for _, lineage in self.lineages]
        for published in read_published(self.root):
            run = None if published.fingerprint in here else self._from_git(published)
            if run is None:
                continue
            for lineage in run.lineages:
                if lineage.score not in seen:
                    seen.append(lineage.score)
                    yield run, lineage

    @cached_property
    def _states(self) -> list[tuple[Git, str, Mapping[str, str]]]:
        """Each state of the scores in Git's history: the newest commit that has it, and path → id
        of each file."""
        newest: dict[str | None, str] = {}
        git = self.git
        if git is None:
            return []
        for commit in git.commits()[::-1]:
            newest.setdefault(git.id_at(commit.id, SCORES), commit.id)
        return [(git, commit, git.files(tree)) for tree, commit in newest.items() if tree]

    def _from_git(self, run: Published) -> Evidence | None:
        """The evidence of a published run in the newest commit that has all of its scores."""
        selected = [(benchmark(score.benchmark), score.keys) for score in run.scores]
        wanted = {
            f"{score.path.removeprefix(f'{SCORES}/')}/{SCORE}": score.score for score in run.scores
        }
        for git, commit, files in self._states:
            if all(
                sha256_bytes(git.read(files.get(path)) or b"") == digest
                for path, digest in wanted.items()
            ):
                return read_all_evidence(
                    self.root, selected, [run.combination], CommitTree(git, commit)
                )[0]
        return None

    def nearest(self, text: str) -> str:
        """Name the selected runs, of many the nearest, for the end of a sentence that knows no run
        of that name."""
        return (
            "; nearest: "
            f"{_nearest(text, [each.path for each in self.combinations])}{self.incomplete}"
        )


def _nearest(text: str, names: Iterable[str]) -> str:
    """List the nearest of some names, all of them if they are few."""
    return ", ".join(get_close_matches(text[:200], names, n=8, cutoff=0.0)) or "none"


def find_run(sources: Sources, text: str) -> Evidence:
    """The evidence of a run.

    Raises:
        LedgerError: the run does not exist, or is incomplete.
    """
    if target := sources.find(text):
        return target.evidence
    raise LedgerError(
        f"no run {text!r:.300} is selected in params.yaml or published{sources.nearest(text)}"
    )


def resolve_target(sources: Sources, text: str) -> RunTarget | ImageTarget:
    """Find what a text names: a run, a score file, ``RUN:METRIC``, ``SCORE FILE:METRIC``, an image
    or its SHA-256.

    Raises:
        LedgerError: nothing is called so; the nearest names are listed.
    """
    text = text.strip()
    left, _, metric = text.partition(":")
    if target := sources.find(text) or _find_score_file(sources, text):
        return target
    if metric and (owner := sources.find(left) or _find_score_file(sources, left)):
        return owner._replace(
            number=find_number(
                [owner.lineage] if owner.lineage else owner.evidence.lineages, metric
            )
        )
    if re.fullmatch("[0-9a-f]{64}", text) or _file(sources, text):
        image = find_image(sources, text)
        if image.places:
            return image
        unseen = (
            f"; {len(image.unknown)} folders could not be searched: {image.unknown[0]}"
            if image.unknown
            else ""
        )
        raise LedgerError(f"{text}: no score file, and no image of a run has its bytes{unseen}")
    hint = (
        "; 'driftledger track' notes the ids of MLflow's runs"
        if _RUN_OF_MLFLOW.fullmatch(text)
        else ""
    )
    raise LedgerError(
        f"no run, score file, image or metric is called {text!r:.300}{hint}{sources.nearest(text)}"
    )


def _file(sources: Sources, text: str) -> Path | None:
    """The file that a text names, from the working folder or the top folder."""
    try:
        return next((path for path in (Path(text), sources.root / text) if path.is_file()), None)
    except (OSError, ValueError):  # a text that cannot name a file
        return None


def _find_score_file(sources: Sources, text: str) -> RunTarget | None:
    """The score in a folder, or in the ``score.json`` of one."""
    path = text.removeprefix("./").removesuffix(f"/{SCORE}").rstrip("/")
    scores = sources.lineages if path.startswith(f"{SCORES}/") else []
    return next((RunTarget(run, each) for run, each in scores if path == each.folder.path), None)


def find_number(lineages: Sequence[Lineage], name: str) -> Number:
    """The number of that name: ``gc_at_5``, ``gc_at_5/photos`` as in MLflow, or
    ``genception/photos/gc_at_5``.

    Raises:
        LedgerError: no score file has it, or several have.
    """
    named: dict[str, list[Number]] = {}
    for lineage in lineages:
        tracked = {number.key: number.name for number in lineage.spec.tracked(lineage.score)}
        for key, value in lineage.score.numbers():
            number = Number(key, value, lineage)
            for alias in {key, f"{tracked.get(key, key)}/{lineage.score.on}", number.name}:
                named.setdefault(alias, []).append(number)
    numbers = named.get(name, [])
    if not numbers:
        raise LedgerError(f"no metric is called {name!r:.100}; nearest: {_nearest(name, named)}")
    if len(numbers) > 1 and "/" not in name:
        names = first_few([number.name for number in numbers])
        raise LedgerError(f"{len(numbers)} score files have a {name!r:.100}; name one: {names}")
    return numbers[0]


def find_image(sources: Sources, text: str) -> ImageTarget:
    """Where the image of a SHA-256, or in a file, is used: as it is, or as the PNG that a dataset
    makes of it."""
    file = _file(sources, text)
    digest = text if file is None else sha256_file(file)
    image = ImageTarget(digest, *_places(sources, digest))
    if image.places or file is None:
        return image
    try:
        digest = sha256_bytes(png_bytes(decode(read_regular(file), str(file), _MOST_PIXELS)[0]))
    except DataError:
        return image
    places = _places(sources, digest)
    return ImageTarget(digest, *places, converted=True) if places[0] else image


def _places(sources: Sources, digest: str) -> tuple[list[Json], list[str]]:
    """Search every list of images in the folders of ``dvc.lock``."""
    places = list[Json]()
    unknown = []
    outs = {out.path: out.md5 for entry in locked_now(sources.root).values() for out in entry.outs}
    for out, md5 in outs.items():
        if not out.startswith("data/") or not md5.endswith(".dir"):
            continue
        files = sources.contents.output(out, md5)
        if not files:
            unknown.append(f"{out} (md5 {md5}) is not here; run 'dvc pull'")
        for file in files:
            inner, _, name = file.rpartition("/")
            if name in _LISTS:
                folder = Folder(path=f"{out}/{inner}", out=out, md5=md5)
                path = sources.contents.within(folder, name)
                if path is None:
                    unknown.append(f"{folder.path}/{name} is not here; run 'dvc pull'")
                else:
                    places += _uses(sources, digest, folder, path, name)
    return places, unknown


def _uses(sources: Sources, digest: str, folder: Folder, file: Path, name: str) -> Iterator[Json]:
    """Yield where the list of images in a file has one, ready for JSON; ``name`` is the list's
    own."""
    role, kind, card, card_kind = _LISTS[name]
    card_file = sources.contents.within(folder, card)
    for line in read_regular(file).split(b"\n"):
        if digest.encode() not in line:
            continue
        entry = parse_json(line, kind, f"{folder.path}/{name}").to_dict()
        shown = (each for each in entry.get("results", [entry]) if digest in each.values())
        for image in shown:
            parent = entry.get("extra", {}).get("parent_sha256")
            t = entry.get("step", 1)
            before = f"made at t = {t - 1}" if t > 1 else "the original"
            scores = []
            for _, lineage in sources.lineages:
                if folder in (lineage.data, *lineage.collected.values()):
                    key, value = lineage.spec.headline(lineage.score)
                    score = {"path": lineage.score_path, "benchmark": lineage.score.benchmark}
                    scores.append({**score, "headline": key, "value": value})
            yield {
                "role": role,
                "folder": folder.path,
                "file": image.get("image") or image.get("file"),
                "entry": entry,
                "card": {} if card_file is None else read_json(card_file, card_kind).to_dict(),
                "parent": None if parent is None else f"sha256 {parent}, {before}",
                "scores": scores,
            }
            break


def meant(sources: Sources, text: str) -> list[Offer]:
    """The numbers that a text could mean, the likeliest first: those of selected runs before all
    others.

    The text is a value, or the name of a metric or a benchmark. A value is meant as it is written:
    ``0.72`` means all that round to it, also percentages of values from 0 to 1, and those of
    published runs that only Git has.

    Raises:
        LedgerError: no number has this value; the nearest are named.
    """
    written = _VALUE.fullmatch(text)
    every = [(True, run, lineage) for run, lineage in sources.lineages]
    if written:
        every += [(False, run, lineage) for run, lineage in sources.former()]
    offers = []
    for selected, run, lineage in every:
        for key, value in lineage.score.numbers():
            offers.append(Offer(Number(key, value, lineage), run, selected))
    offers.sort(key=lambda offer: offer.unlikely)
    if written:
        return _of_value(offers, written[1].replace(",", "."))
    return [offer for offer in offers if _is_called(offer.number, text)]


def _is_called(number: Number, text: str) -> bool:
    """Whether a text names the metric of a number, or its benchmark and it is the headline."""
    spec = number.lineage.spec
    if text in (spec.name, spec.title):
        return number.key == spec.headline(number.lineage.score)[0]
    return text.casefold() in (number.key.casefold(), number.title.casefold())


def _of_value(offers: Sequence[Offer], written: str) -> list[Offer]:
    """The numbers that round to a value as it is written; errors as in :func:`meant`."""

    def distance(value: float) -> float:
        percent = 100 * value if 0 <= value <= 1 else value
        return min(abs(value - float(written)), abs(percent - float(written)))

    half = 0.5000001 / 10 ** len(written.partition(".")[2])
    fitting = [offer for offer in offers if distance(offer.number.value) < half]
    if not fitting:
        likeliest = {offer.number.value: offer.target for offer in reversed(offers)}
        nearest = [
            f"{value:.6g} ({likeliest[value]})" for value in sorted(likeliest, key=distance)[:3]
        ]
        raise LedgerError(f"no number here is {written}; nearest: {', '.join(nearest) or 'none'}")
    return fitting


class Part(NamedTuple):
    """A component or dataset that scores were made with."""

    kind: str
    """``model``, ``generator``, ``encoder``, ``judge`` or ``dataset``."""
    name: str
    """Empty for any."""
    version: str
    """The start of one of the things that its version may be called; empty for any."""

    def is_in(self, score: Score) -> bool:
        """Whether a score was made with it."""
        for name, versions in _made_with(score, self.kind):
            if self.name in ("", name) and f'"{self.version}' in versions:
                return True
        return False


def touched(sources: Sources, parts: Mapping[str, str | None]) -> list[Json]:
    """Every score, here and in Git's history, that was made with all these parts, the oldest first;
    ready for JSON.

    Args:
        parts: ``model``, ``generator``, ``encoder``, ``judge`` or ``dataset`` → ``NAME``,
            ``NAME@VERSION`` or ``@VERSION``: the start of a fingerprint or digest, of a commit of
            weights, or of what a service says it is.

    Raises:
        ConfigError: no part is named.
        LedgerError: no score was made with it.
    """
    wanted = []
    for kind, text in parts.items():
        if text is not None:
            name, _, version = text.strip().partition("@")
            wanted.append(Part(kind, name, version))
    if not wanted or not all(part.name or part.version for part in wanted):
        raise ConfigError(
            "nothing is asked; name a run, or give --generator, --model or --dataset NAME[@VERSION]"
        )
    rows = {(row["path"], row["md5"]): (score, row) for score, row in _history(sources, wanted)}
    for run in sources.current:
        for lineage in run.lineages:
            key = lineage.score_path, sources.contents.manifest(lineage.folder)[SCORE]
            score, row = rows.get(key) or (lineage.score, _row(*key, lineage.score, None, None))
            known_from = ["git", "here"] if row["first_commit"] else ["here"]
            runs = [*row["runs"], run.fingerprint]
            rows[key] = score, row | {"current": True, "known_from": known_from, "runs": runs}
    matches = [row for score, row in rows.values() if all(part.is_in(score) for part in wanted)]
    if not matches:
        kind, name, version = wanted[0]
        names = set()
        for _, lineage in sources.lineages:
            names |= {
                f"{known}@{json.loads(versions)[0][:16]}"
                for known, versions in _made_with(lineage.score, kind)
            }
        text = f"{kind} {name}{'@' if version else ''}{version}"
        there = _nearest(name, sorted(names))
        raise LedgerError(f"no score was made with {text}; there are: {there}{sources.incomplete}")
    return sorted(matches, key=lambda row: (row["first_date"] or "9", row["path"], row["md5"]))


def _history(sources: Sources, parts: Sequence[Part]) -> Iterator[tuple[Score, Json]]:
    """Every score file in Git's history that names all parts, with the first and the last commit
    that have it."""
    git = sources.git
    if git is None:
        return
    stood = dict[tuple[str, str], tuple[Commit, Commit]]()
    for commit in git.commits():
        tree = git.id_at(commit.id, SCORES)
        for path, blob in git.files(tree).items() if tree else ():
            if path.endswith(f"/{SCORE}"):
                first, _ = stood.get((path, blob), (commit, commit))
                stood[path, blob] = (first, commit)
    for (name, blob), (first, last) in stood.items():
        path = f"{SCORES}/{name}"
        data = git.read(blob) or b""
        text = data.decode(errors="replace")
        is_named = all(part.name in text and part.version in text for part in parts)
        if is_named and find_score(path):
            with suppress(DriftledgerError, ValueError):  # a file of another version, or not ours
                score = parse_json(data, Score, path)
                yield score, _row(path, md5_bytes(data), score, first, last)


def _row(path: str, md5: str, score: Score, first: Commit | None, last: Commit | None) -> Json:
    key, value = benchmark(score.benchmark).headline(score)
    shown = {"name", "fingerprint", "settings", "identity"}
    return {
        "path": path,
        "md5": md5,
        "benchmark": score.benchmark,
        "keys": score.keys,
        "on": score.on,
        "headline": key,
        "value": value,
        "digest": score.inputs.data_digest,
        "versions": [
            {
                "role": ROLES.get(part, part),
                "part": part,
                **card.model_dump(mode="json", include=shown),
            }
            for part, card in score.components.items()
        ],
        "served": {role: sorted(some) for role, some in score.served.items()},
        "runs": [],
        "known_from": ["git"],
        "first_commit": first and first.id,
        "first_date": first and first.date,
        "last_commit": last and last.id,
        "last_date": last and last.date,
        "current": False,
    }


def _made_with(score: Score, kind: str) -> list[tuple[str, str]]:
    """Name of each component or dataset of a kind, and as JSON all that its version may be
    called."""
    if kind == "dataset":
        return [(score.on, canonical_json([score.inputs.data_digest]))]
    return [
        (
            card.name,
            canonical_json(
                [card.fingerprint, card.identity, card.settings, [*score.served.get(role, ())]]
            ),
        )
        for role, card in score.components.items()
        if ROLES.get(role) == kind
    ]
