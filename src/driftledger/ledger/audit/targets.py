"""What the text after ``driftledger audit`` means: a run, a score file, an image, or one number of a run."""

from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple, TypeAlias

from driftledger.core.errors import DataError, LedgerError
from driftledger.core.escaping import for_line
from driftledger.core.files import OF_VERSION_1
from driftledger.core.images import png_bytes
from driftledger.data.datasets.decode import decode
from driftledger.ledger.audit.found import FINGERPRINT_START, RunTarget, ScoreTarget, find_run, find_score
from driftledger.ledger.audit.images import ImageHash, hash_of
from driftledger.ledger.audit.numbers import Number, find_number
from driftledger.ledger.audit.places import Places, find_places
from driftledger.ledger.audit.sources import Sources
from driftledger.ledger.audit.summary import is_of_version_1, read_summary
from driftledger.ledger.lineage import is_score

_MOST_PIXELS = 100_000_000
_NEAREST = 3
_DIGITS = {64: "sha256", 32: "md5"}
"""How long an image's hash is, in hex digits."""


class MetricTarget(NamedTuple):
    """One number, and the run or score that it was asked of."""

    number: Number
    run: RunTarget
    in_run: bool = True
    """Whether ``run`` is one, and not the evidence of the score alone."""


class ImageTarget(NamedTuple):
    """An image, wherever it stands in the ledger."""

    image: ImageHash
    converted: bool
    """Whether it is not these bytes that the ledger has, but the PNG that a dataset makes of them."""
    places: Places


Target: TypeAlias = RunTarget | ScoreTarget | MetricTarget | ImageTarget


def resolve_target(sources: Sources, text: str) -> Target:
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
    if len(text) in _DIGITS and FINGERPRINT_START.fullmatch(text):
        image = image_hash(text)
        found, unknown = places = find_places(sources, image)
        if found:
            return ImageTarget(image, False, places)
    if run := find_run(sources, text):
        return run
    left, _, metric = text.partition(":")
    if metric and (file := _file(sources, left)):
        owner = _of_file(sources, file)
        if isinstance(owner, ScoreTarget):
            return MetricTarget(find_number([owner.lineage], metric), owner.run, owner.in_run)
    elif metric and (run := find_run(sources, left)):
        return MetricTarget(find_number(run.evidence.lineages, metric), run)
    raise LedgerError(_no_such(sources, text) + _unseen(unknown))


def image_hash(text: str) -> ImageHash:
    """The hash that 64 or 32 hex digits are: a SHA-256, or an MD5 as DVC knows it."""
    return ImageHash(**{"sha256": None, "md5": None, _DIGITS[len(text)]: text})


def find_image(sources: Sources, image: Path | str, *, everywhere: bool = False) -> ImageTarget:
    """The image in a file, or of a hash; in no place where the ledger does not know it.

    Raises:
        LedgerError: it is neither a file nor a hash.
    """
    file = _file(sources, str(image))
    if file is None:
        text = str(image)
        if len(text) not in _DIGITS or not FINGERPRINT_START.fullmatch(text):
            raise LedgerError(f"there is no file {for_line(text)!r:.300}; name an image file, or its SHA-256 or MD5")
        return ImageTarget(image_hash(text), False, find_places(sources, image_hash(text), everywhere=everywhere))
    data = file.read_bytes()
    found = ImageTarget(hash_of(data), False, find_places(sources, hash_of(data), everywhere=everywhere))
    if not found.places.found and (png := _as_stored(data, file)):
        stored = ImageTarget(hash_of(png), True, find_places(sources, hash_of(png), everywhere=everywhere))
        return stored if stored.places.found else found
    return found


def _file(sources: Sources, text: str) -> Path | None:
    """The file that is meant, from the working folder or the top folder."""
    try:
        return next((path for path in (Path(text), sources.root / text) if path.is_file()), None)
    except (OSError, ValueError):  # a text that no file can be called
        return None


def _of_file(sources: Sources, file: Path) -> ScoreTarget | ImageTarget:
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
    unread = "" if sources.history is None or not sources.history.unread else f"; {sources.history.unread}"
    return f"there is no run, score file, image or metric {for_line(text)!r:.300}{hint}{asked}{unread}"
