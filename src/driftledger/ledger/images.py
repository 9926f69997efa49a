"""Find the uses of an image in the folders of ``dvc.lock``."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from driftledger.benchmarks.base.records import CollectedCard, CollectedRecord
from driftledger.core.canonical import Json, sha256_bytes, sha256_file
from driftledger.core.errors import DataError
from driftledger.core.files import Record, parse_json, read_json, read_regular
from driftledger.core.media import png_bytes
from driftledger.data.datasets.decode import decode
from driftledger.data.records import (
    DatasetCard,
    QuestionEntry,
    QuestionSetCard,
    SampleEntry,
)
from driftledger.ledger.lineage import Folder
from driftledger.ledger.lock import locked_now
from driftledger.ledger.sources import Sources

_MOST_PIXELS = 100_000_000


class _List(NamedTuple):
    """A kind of file that lists images."""

    role: str
    """The role of its images."""
    line: type[Record]
    card: str
    """The file in the same folder that describes it."""
    card_type: type[Record]


_LISTS = {
    "samples.jsonl": _List("sample", SampleEntry, "dataset.json", DatasetCard),
    "questions.jsonl": _List(
        "question", QuestionEntry, "question_set.json", QuestionSetCard
    ),
    "records.jsonl": _List("drawn", CollectedRecord, "components.json", CollectedCard),
}


class ImageTarget(NamedTuple):
    """An image, and all places where it is used."""

    sha256: str
    places: list[Json]
    """Ready for JSON: ``role``, ``folder``, ``file``, ``entry`` (its line of the list), ``card``,
    ``parent`` and ``scores``."""
    unknown: list[str]
    """Folders that could not be searched, and why."""
    converted: bool = False
    """True if the project has these pixels as a PNG of other bytes."""


def named_file(sources: Sources, text: str) -> Path | None:
    """Return the file that a text names, from the working folder or the top folder."""
    for path in (Path(text), sources.root / text):
        try:
            if path.is_file():
                return path
        except (OSError, ValueError):  # a text that cannot name a file
            return None
    return None


def find_image(sources: Sources, text: str) -> ImageTarget:
    """Find the uses of an image by its SHA-256 or its file.

    If nothing has the bytes of the file, the PNG that a dataset makes of it is searched for.
    """
    file = named_file(sources, text)
    digest = text if file is None else sha256_file(file)
    image = _search(sources, digest)
    if image.places or file is None:
        return image
    try:
        picture, *_ = decode(read_regular(file), str(file), _MOST_PIXELS)
    except DataError:
        return image
    converted = _search(sources, sha256_bytes(png_bytes(picture)))
    return converted._replace(converted=True) if converted.places else image


def _search(sources: Sources, digest: str) -> ImageTarget:
    uses: list[Json] = []
    unknown = []
    selected = {"", *(combination.model for combination in sources.combinations)}
    outs = dict[str, str]()
    for name, entry in locked_now(sources.root).items():
        # DVC keeps the entries of models that are no longer selected, and pulls none of theirs
        if name.partition("@")[2] in selected:
            outs |= {out.path: out.md5 for out in entry.outs}
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
                    uses += _uses(sources, digest, folder, path, name)
    return ImageTarget(digest, uses, unknown)


def _uses(
    sources: Sources, digest: str, folder: Folder, file: Path, name: str
) -> Iterator[Json]:
    """Yield each line of a list that has the image, ready for JSON.

    Args:
        file: where the bytes of the list are.
        name: the name of the list in its folder.
    """
    kind = _LISTS[name]
    card_file = sources.contents.within(folder, kind.card)
    for line in read_regular(file).split(b"\n"):
        if digest.encode() not in line:
            continue
        entry = parse_json(line, kind.line, f"{folder.path}/{name}").to_dict()
        listed = entry.get("results") or entry.get("images") or [entry]
        images = [image for image in listed if digest in image.values()]
        if images:
            card = Json()
            if card_file is not None:
                card = read_json(card_file, kind.card_type).to_dict()
            yield {
                "role": kind.role,
                "folder": folder.path,
                "file": images[0].get("image") or images[0].get("file"),
                "entry": entry,
                "card": card,
                "parent": _parent(entry),
                "scores": _scores_of(sources, folder),
            }


def _parent(entry: Json) -> str | None:
    """Describe the image that a drawing was made from; None for an original."""
    parent = entry.get("extra", {}).get("parent_sha256")
    if parent is None:
        return None
    t = entry.get("step", 1)
    return f"sha256 {parent}, " + (f"made at t = {t - 1}" if t > 1 else "the original")


def _scores_of(sources: Sources, folder: Folder) -> list[Json]:
    """List the scores that were made from a folder of data or records."""
    scores = []
    for _, lineage in sources.lineages:
        if folder in (lineage.data, *lineage.collected.values()):
            headline = lineage.spec.metrics.headline(lineage.score)
            score = {
                "path": lineage.score_path,
                "benchmark": lineage.score.benchmark,
                "headline": headline.name,
                "value": headline.value,
            }
            scores.append(score)
    return scores
