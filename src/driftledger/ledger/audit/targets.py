"""What the text after ``driftledger audit`` means: a run, a score file, an image, or one number of a run.

The evidence behind a run or a score is taken from wherever it can be had: the working tree, Git history or MLflow.
"""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from pydantic import ValidationError

from driftledger.benchmarks.registry import find_score as score_at
from driftledger.benchmarks.selection import Selected, is_of
from driftledger.core.errors import DataError, DriftledgerError, LedgerError
from driftledger.core.escaping import for_line
from driftledger.core.files import OF_VERSION_1
from driftledger.core.images import png_bytes
from driftledger.core.paths import Combination
from driftledger.data.datasets.decode import decode
from driftledger.ledger.audit.images import ImageHash, Places, find_places, hash_of
from driftledger.ledger.audit.numbers import Number, find_number
from driftledger.ledger.audit.sources import FINGERPRINT_START, LoggedRun, LoggedRuns, Sources
from driftledger.ledger.audit.summary import ScoreSummary, is_of_version_1, read_summary
from driftledger.ledger.lineage import Evidence, Lineage, is_score, read_evidence

T = TypeVar("T")

_MOST_PIXELS = 100_000_000
_NEAREST = 3
_DIGITS = {64: "sha256", 32: "md5"}
"""How long an image's hash is, in hex digits."""

Origin = Literal["dvc.lock", "git", "mlflow"]
"""Where evidence is from: the working tree, an earlier commit, or a run in MLflow."""


class RunTarget(NamedTuple):
    """A run, or the one score file or number of it that was asked for."""

    evidence: Evidence
    known: Origin
    logged: LoggedRun | None = None
    """The same run in MLflow, where that could be asked."""
    lineage: Lineage | None = None
    """The score that was asked for, of which this is the first run that shows it; None where the whole run was."""
    number: Number | None = None
    """The number that was asked for."""
    is_run: bool = True
    """Whether it is one; otherwise the evidence is that of the score alone, and its fingerprint no run's."""


class ImageTarget(NamedTuple):
    """An image, wherever it stands in the ledger."""

    image: ImageHash
    places: Places
    converted: bool = False
    """Whether it is not these bytes that the ledger has, but the PNG that a dataset makes of them."""


def resolve_target(sources: Sources, text: str) -> RunTarget | ImageTarget:
    """What is meant: in this order, a file, a hash of an image, a run, or ``RUN:METRIC``, ``SCORE FILE:METRIC``.

    A run is a ``model/generator/encoder``, its name, its MLflow id, or eight digits or more of its fingerprint; an
    image or score file may be anywhere, under any name.

    Raises:
        LedgerError: nothing is called so; the nearest names are told.
    """
    text = text.strip()
    if file := _file(sources, text):
        return _of_file(sources, file)
    unknown: list[str] = []
    if image := _hash(text):
        places = find_places(sources, image)
        if places.found:
            return ImageTarget(image, places)
        unknown = places.unknown
    if run := find_run(sources, text):
        return run
    left, _, metric = text.partition(":")
    if metric and (file := _file(sources, left)):
        owner = _of_file(sources, file)
        if isinstance(owner, RunTarget) and owner.lineage is not None:
            return owner._replace(number=find_number([owner.lineage], metric))
    elif metric and (run := find_run(sources, left)):
        return run._replace(number=find_number(run.evidence.lineages, metric))
    raise LedgerError(_no_such(sources, text) + _unseen(unknown))


def find_image(sources: Sources, image: Path | str, *, everywhere: bool = False) -> ImageTarget:
    """The image in a file, or of a hash; in no place where the ledger does not know it.

    Raises:
        LedgerError: it is neither a file nor a hash.
    """
    file = _file(sources, str(image))
    if file is None:
        wanted = _hash(str(image))
        if wanted is None:
            text = for_line(str(image))
            raise LedgerError(f"there is no file {text!r:.300}; name an image file, or its SHA-256 or MD5")
        return ImageTarget(wanted, find_places(sources, wanted, everywhere=everywhere))
    data = file.read_bytes()
    found = ImageTarget(hash_of(data), find_places(sources, hash_of(data), everywhere=everywhere))
    if not found.places.found and (png := _as_stored(data, file)):
        places = find_places(sources, hash_of(png), everywhere=everywhere)
        return ImageTarget(hash_of(png), places, converted=True) if places.found else found
    return found


def _hash(text: str) -> ImageHash | None:
    """The hash that 64 or 32 hex digits are: a SHA-256, or an MD5 as DVC knows it."""
    if len(text) not in _DIGITS or not FINGERPRINT_START.fullmatch(text):
        return None
    return ImageHash(**{"sha256": None, "md5": None, _DIGITS[len(text)]: text})


def _file(sources: Sources, text: str) -> Path | None:
    """The file that is meant, from the working folder or the top folder."""
    try:
        return next((path for path in (Path(text), sources.root / text) if path.is_file()), None)
    except (OSError, ValueError):  # a text that no file can be called
        return None


def _of_file(sources: Sources, file: Path) -> RunTarget | ImageTarget:
    data = file.read_bytes()
    facts, image = read_summary(data), hash_of(data)
    if facts is not None:
        score = find_score(sources, facts, image.md5 or "")
        if score is None:
            raise LedgerError(
                f"{file} looks like a score file, and its bytes (md5 {image.md5}) are known neither to dvc.lock, nor "
                "to its history, nor to a run in MLflow; it was altered, or is of another repository"
            )
        return score
    if is_of_version_1(data):
        raise LedgerError(f"{file} {OF_VERSION_1}")
    found = find_image(sources, file)
    if not found.places.found:
        raise LedgerError(
            f"{file} is no score file, and no dataset, chain, redrawing or question set in dvc.lock or its history "
            f"has an image with its bytes ({image}){_unseen(found.places.unknown)}"
        )
    return found


def _as_stored(data: bytes, file: Path) -> bytes | None:
    """The PNG that a dataset makes of an image file; None where it is no image."""
    try:
        return png_bytes(decode(data, str(file), _MOST_PIXELS).image)
    except DataError:
        return None


def _unseen(unknown: list[str]) -> str:
    return f"; {len(unknown)} folders could not be looked into: {unknown[0]}" if unknown else ""


def _no_such(sources: Sources, text: str) -> str:
    runs = [name for each in sources.combinations for name in ("/".join(each), str(each))]
    logged = sources.ask_mlflow(lambda mlflow: [run.name for run in mlflow.every()]) or []
    scores = [path for path in sources.outs if is_score(path)]
    nearest = get_close_matches(text, dict.fromkeys([*runs, *logged, *scores]), n=_NEAREST, cutoff=0.4)
    nearest = nearest or runs[:_NEAREST]
    hint = f"; nearest: {for_line(', '.join(nearest))}" if nearest else ""
    asked = "" if sources.why_not is None else f" (MLflow was not asked: {sources.why_not})"
    unread = f"; {sources.unread}" if sources.unread else ""
    return f"there is no run, score file, image or metric {for_line(text)!r:.300}{hint}{asked}{unread}"


def find_run(sources: Sources, text: str) -> RunTarget | None:
    """The run of that name, MLflow id or fingerprint; of several of a name, the current or newest one.

    Raises:
        LedgerError: a fingerprint's start is that of several runs; or the run is known, and its evidence is nowhere
            complete.
    """
    missing: DriftledgerError | None = None
    try:
        if here := _here(sources, text):
            return RunTarget(here, "dvc.lock", sources.ask_mlflow(lambda mlflow: mlflow.find(here.fingerprint)))
    except DriftledgerError as error:
        missing = error
    logged = sources.ask_mlflow(lambda mlflow: mlflow.find(text))
    try:
        if logged is not None:
            return RunTarget(_evidence_in(logged), "mlflow", logged)
    except LedgerError as error:  # which Git history may still have in a form that is known here
        missing = error
    if earlier := _earlier_run(sources, text):
        return RunTarget(earlier, "git", logged)
    if missing is not None:
        raise missing
    return None


def find_score(sources: Sources, facts: ScoreSummary, md5: str) -> RunTarget | None:
    """The score file with these bytes, which says ``facts`` of itself."""
    for combination in sources.combinations:
        run = sources.complete(combination) if is_of(facts.keys, combination) else None
        if run is not None and (lineage := _having(run, md5)):
            logged = sources.ask_mlflow(lambda mlflow, run=run: mlflow.find(run.fingerprint))  # type: ignore[misc]
            return RunTarget(run, "dvc.lock", logged, lineage)
    if found := _alone(sources, facts.path, md5):
        return found
    return sources.ask_mlflow(lambda mlflow: next(_logged(mlflow, facts.path, md5), None))


def selection_of(path: str) -> tuple[Selected, Combination] | None:
    """The selection whose only score stands at ``path``, relative to the top folder; None if no score stands there."""
    found = score_at(path)
    if found is None:
        return None
    spec, keys = found
    return Selected([(spec, keys)]), Combination(*(keys.get(role, "") for role in Combination._fields))


def _evidence_in(logged: LoggedRun) -> Evidence:
    try:
        return Evidence.model_validate(logged.evidence())
    except ValidationError:
        raise LedgerError(f"run {logged.run_id!r} carries no evidence that this version can read") from None


def _here(sources: Sources, text: str) -> Evidence | None:
    named = next((each for each in sources.combinations if is_called(text, each)), None)
    if named is not None:
        return read_evidence(sources.root, sources.selected, named)
    if not FINGERPRINT_START.fullmatch(text):
        return None
    return _only(text, {run.fingerprint: run for run in sources.current})


def _earlier_run(sources: Sources, text: str) -> Evidence | None:
    history = sources.history
    is_name = len(re.split(r"/| · ", text)) == len(Combination._fields)
    if history is None or not (is_name or FINGERPRINT_START.fullmatch(text)):
        return None
    for state in reversed(history.states):
        runs = history.fingerprints(state)
        named = next((each for each in runs.values() if is_called(text, each)), None)
        if found := named if is_name else _only(text, runs):
            return history.evidence(state, history.selection(state)[0], found)
    return None


def is_called(text: str, combination: Combination) -> bool:
    """Whether a text is the name of a run, or its ``model/generator/encoder``."""
    return text in (str(combination), "/".join(combination))


def _only(text: str, runs: Mapping[str, T]) -> T | None:
    """The only one of the runs, by fingerprint, that begins so; None where there is none."""
    found = [run for fingerprint, run in runs.items() if fingerprint.startswith(text)]
    if len(found) > 1:
        raise LedgerError(f"{len(found)} runs have a fingerprint that begins with {text}; give more of it")
    return found[0] if found else None


def _having(run: Evidence, md5: str) -> Lineage | None:
    return next((each for each in run.lineages if each.score_file.md5 == md5), None)


def _alone(sources: Sources, path: str, md5: str) -> RunTarget | None:
    """A score that ``dvc.lock`` has, or had, and that belongs to no run which is selected and complete."""
    selection, history = selection_of(path), sources.history
    if selection is None:
        return None
    if sources.outs.get(path) == md5:
        evidence = read_evidence(sources.root, *selection)
        return RunTarget(evidence, "dvc.lock", lineage=evidence.lineages[0], is_run=False)
    if history is None:
        return None
    for each in history.scores:
        if each.path == path and history.stored(each.blob).md5 == md5:
            earlier = history.evidence(each.state, *selection)
            if earlier is not None:
                return RunTarget(earlier, "git", lineage=earlier.lineages[0], is_run=False)
    return None


def _logged(mlflow: LoggedRuns, path: str, md5: str) -> Iterator[RunTarget]:
    for logged in mlflow.every():
        files = [each.get("score_file") or {} for each in logged.evidence().get("lineages") or ()]
        if any(file.get("md5") == md5 and file.get("path") == path for file in files):
            evidence = _evidence_in(logged)
            lineage = _having(evidence, md5)
            if lineage is not None:
                yield RunTarget(evidence, "mlflow", logged, lineage)
