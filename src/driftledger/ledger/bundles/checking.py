"""``check``: recompute and compare everything in a bundle.

A bundle may be a stranger's. Nothing of it is run, and the components that it names are looked up
among the embedded ones alone. What would take too much memory or time is *not checked*.
"""

import errno
import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, cast

import numpy as np
from PIL import Image

from driftledger import __version__
from driftledger.benchmarks.base.benchmark import Benchmark, Scored
from driftledger.benchmarks.base.records import (
    CARD,
    RECORDS,
    CollectedCard,
    results_of,
    stream_records,
)
from driftledger.benchmarks.registry import benchmark, benchmark_names
from driftledger.collect.features import FeatureStore
from driftledger.components.base import ComponentCard, Encoder
from driftledger.components.checkpoints import CheckpointComponent
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import DriftledgerError, MissingExtraError, StoreError
from driftledger.core.files import known_fields_alone, read_json, read_jsonl
from driftledger.core.media import open_picture, png_bytes
from driftledger.core.registry import is_embedded, provider_class
from driftledger.core.types import Float32, PromptUsage
from driftledger.ledger.bundles.archive import Archive, BundleError
from driftledger.ledger.bundles.reading import FILES, Bundle, Json, version_of
from driftledger.ledger.bundles.report import NUMBERS, Report, plain
from driftledger.ledger.findings import FROM_FEATURES, Line, Status
from driftledger.ledger.links import (
    check_files,
    check_fingerprints,
    check_ledger,
    check_links,
    data_files,
    folders_of,
    guarded,
)
from driftledger.ledger.rescoring import (
    ComparedValue,
    Judge,
    play,
    record_lines,
    rescore,
    row_lines,
    score_lines,
    usage_lines,
    version_key,
)
from driftledger.scoring.metric import Input, Metric
from driftledger.scoring.number import Place
from driftledger.scoring.roles import NEEDED_FOR, ROLES
from driftledger.scoring.score import ROWS, SCORE, Row, Score

_CHECKS = {
    "files": check_files,
    "links": check_links,
    "fingerprints": check_fingerprints,
    "ledger": check_ledger,
}
PIXELS = 50_000_000
"""The most pixels of a picture that is decoded: 150 MB."""
ANSWER_CHARACTERS = 200_000
"""The longest answer that is read: reading takes 2 µs a character."""
GROUPS = 100
"""The most groups of a dataset; each has numbers of its own."""
DISTANCE_COST = 5e11
"""The largest n·d·min(n, d) of features n×d whose distances are computed: two minutes."""
TEXT_FEATURES = 2**27
"""The most numbers in the features of all texts, for an encoder that learns its words: 0.5 GB."""
_ROUNDING = 1.1e-8
"""How far a number may be off, relative: one unit of the ninth digit, where it was rounded."""
_ENCODED = frozenset({Input.ENCODER, Input.TEXT_ENCODER})
_LEFT_OUT = "the pictures were left out of the bundle"
_FROM_BUNDLE = (
    "its features are taken from the bundle, since the encoder is not computed here; driftledger "
    "verify computes them again"
)
_WITHOUT_METRIC = {"extra", "flags", "details"}
"""Parts of scores and rows without a metric: an encoder may have shaped them."""


class NotCheckedError(DriftledgerError):
    """Raised for what cannot be computed here; the text is the reason."""


def check(path: Path, *, trust_features: bool = False) -> Report:
    """Check all of a bundle.

    Args:
        trust_features: accept headlines that are from the bundle's own features.

    Raises:
        BundleError: the file is not a bundle.
        OSError: the file cannot be read.
    """
    if path.is_dir():
        raise BundleError("is a folder: give the file that 'driftledger bundle' wrote")
    if path.exists() and not path.is_file():
        raise BundleError("is a pipe or a device: save the bundle to a file first")
    with (
        path.open("rb") as file,
        TemporaryDirectory(prefix="driftledger-") as top,
        warnings.catch_warnings(action="ignore"),
    ):
        bundle = Bundle(Archive(file))
        groups = {name: guarded(name, test, bundle) for name, test in _CHECKS.items()}
        for lineage in bundle.lineages:
            folder = lineage["folder"]["path"]
            name = f"{NUMBERS}{folder.removeprefix('reports/scores/')}"
            groups[name] = guarded(
                f"{folder}/{SCORE}", check_score, bundle, lineage, Path(top)
            )
    return Report(path.name, groups, trusts_features=trust_features)


def check_score(bundle: Bundle, lineage: Json, top: Path) -> Iterator[Line]:
    """Compare every number of a score and its rows with the one that the records give.

    Args:
        top: a folder for the files behind the score.
    """
    path = lineage["folder"]["path"]
    wrote = version_of(lineage["score"])
    is_later = version_key(wrote) > version_key(__version__)
    try:
        with known_fields_alone() if is_later else nullcontext():
            files = open_score(bundle, lineage, top)
            yield from guarded(path, _followed, files, lineage)
            yield from guarded(path, usage_lines, files.folder, files.records, path)
            again, judge = compute(bundle, files)
            yield from score_lines(judge, files.stored, again.score, path)
            yield from row_lines(judge, files.folder, again.rows, path)
        if is_later:
            yield from _unknown(files, path, wrote)
    except (NotCheckedError, MissingExtraError, MemoryError) as error:
        reason = str(error) or "it takes more memory than there is"
        yield Line(f"{path}/{SCORE}: numbers", "not checkable", reason)
        for row in lineage["score"].get("numbers", ()):
            place = Place(**{column: row.get(column) for column in Place._fields})
            metric = place.metric if place.group_kind is None else ""
            where = f"{path}/{SCORE}: {place.name}"
            yield Line(where, "not checkable", reason, metric=metric)


class ScoreFiles(NamedTuple):
    """The files behind a score of a bundle, on disk."""

    spec: Benchmark
    stored: Score
    folder: Path
    """The folder of the score."""
    folders: dict[str, Path]
    """Stage → its folder, of the data and of every collect stage."""
    texts: int
    """How many texts the records hold."""
    left_out: set[str]
    """SHA-256 of pictures that are not in the bundle."""

    @property
    def records(self) -> Path:
        return self.folders[self.spec.collects.name]


def open_score(bundle: Bundle, lineage: Json, top: Path) -> ScoreFiles:
    """Write the files behind a score below ``top``, and read it.

    Raises:
        NotCheckedError: it cannot be computed here.
        StoreError, ValueError: it is no score.
    """
    content = lineage["score"]
    if content["schema"] < Score.SCHEMA:
        schema = f"schema {content['schema']}"
        raise NotCheckedError(
            f"an earlier driftledger wrote it as {schema}, and schema {Score.SCHEMA} is read; ask "
            "for a bundle that a later version wrote"
        )
    if content["benchmark"] not in benchmark_names():
        name = f"{content['benchmark']!r:.60}"
        raise NotCheckedError(f"no benchmark {name} is installed here")
    spec = benchmark(content["benchmark"])
    left_out = set()
    for folder in folders_of(lineage):
        left_out |= _unpack(bundle, folder["path"], top)
    folders = {spec.data.name: top / lineage["data"]["path"]}
    for stage, folder in lineage["collected"].items():
        folders[stage] = top / folder["path"]
    own = top / lineage["folder"]["path"]
    stored = read_json(own / SCORE, Score)
    texts = 0
    for result in results_of(stream_records(folders[spec.collects.name])):
        text = result.text or ""
        if len(text) > ANSWER_CHARACTERS:
            what = f"an answer has {len(text):,} characters"
            raise NotCheckedError(f"{what}, and up to {ANSWER_CHARACTERS:,} are read")
        texts += bool(text)
    data = bundle.folder(lineage["data"]["path"])
    _, card = data_files(data)
    groups = len(data.json(card).get("groups", {}))
    if groups > GROUPS:
        raise NotCheckedError(
            f"the data has {groups:,} groups, and up to {GROUPS} are computed"
        )
    if stored.inputs.beside:
        raise NotCheckedError(
            "it was made with a file of the user, which no bundle holds"
        )
    return ScoreFiles(spec, stored, own, folders, texts=texts, left_out=left_out)


def compute(bundle: Bundle, files: ScoreFiles) -> tuple[Scored, Judge]:
    """Compute a score from its records, and return the judge of its values.

    Raises:
        NotCheckedError: it cannot be computed here.
    """
    encoders: dict[str, Encoder] = {}
    for role in ("encoder", "text_encoder"):
        if role in files.stored.components:
            encoders[role] = _encoder(files.stored.components[role], files.stored)
            most = getattr(encoders[role], "max_features", 0)
            if files.texts * most > TEXT_FEATURES:
                what = f"{files.texts:,} texts by {most:,} words"
                raise NotCheckedError(
                    f"{what} are more than is computed for a stranger"
                )
    # embedded encoders see each picture alone, so that three are in memory
    features = BundleFeatures(most_at_once=1, bundle=bundle, left_out=files.left_out)
    again = rescore(files.spec, files.stored, files.folders, encoders, {}, features)
    judge = StrangersJudge(
        files.spec,
        files.stored.driftledger,
        _ROUNDING,
        stored=files.stored,
        encoders=encoders,
        features=features,
    )
    return again, judge


def _unpack(bundle: Bundle, folder: str, top: Path) -> set[str]:
    """Write the files of a folder below ``top``, once.

    A grey picture stands in for each that the bundle leaves out, so that what needs no picture is
    computed.

    Returns:
        The SHA-256 of the pictures that are left out.
    """
    opened = bundle.folder(folder)
    left_out = set()
    for name, digests in opened.names.items():
        is_here = opened.has(name)
        if not is_here:
            left_out.add(str(digests["sha256"]))
        file = top / folder / name
        if file.exists():
            continue
        data = b""
        if is_here:
            data = bundle.archive.read(f"{FILES}{folder}/{name}")
        if file.suffix in (".png", ".jpg", ".webp"):
            data = data or png_bytes(Image.new("RGB", (16, 16), "grey"))
            _bound_pixels(f"{folder}/{name}", data)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            what = (
                f"{top.parent} has no room for its files; name another folder by TMPDIR"
            )
            raise NotCheckedError(what) from None
    return left_out


def _bound_pixels(path: str, data: bytes) -> None:
    with open_picture(BytesIO(data)) as image:
        if image.width * image.height > PIXELS:
            size = f"{image.width} × {image.height} pixels"
            raise NotCheckedError(
                f"{path} has {size}, and up to {PIXELS:,} are decoded"
            )


def _unknown(files: ScoreFiles, path: str, wrote: str) -> Iterator[Line]:
    """Name the files of a later version with fields that this version lacks."""
    readers: dict[str, Callable[[], object]] = {
        SCORE: partial(read_json, files.folder / SCORE, Score),
        ROWS: partial(read_jsonl, files.folder / ROWS, Row),
        RECORDS: lambda: [*stream_records(files.records)],
    }
    for name, read in readers.items():
        try:
            read()
        except StoreError as error:
            what = (
                f"driftledger {wrote} wrote it, and {__version__} is installed: {error}"
            )
            yield Line(f"{path}/{SCORE}: {name}", "not checkable", what)


def _followed(files: ScoreFiles, lineage: Json) -> Iterator[Line]:
    """Replay the protocol, and compare its records with the stored ones."""
    stage = files.spec.collects.name
    path = f"{lineage['collected'][stage]['path']}/{RECORDS}"
    card = read_json(files.records / CARD, CollectedCard)
    if any(ROLES.get(role) == "encoder" for role in card.components):
        yield Line(path, "not checkable", "an encoder chose which examples were shown")
        return
    played = play(files.spec, files.records, files.folders[files.spec.data.name], {})
    yield from record_lines(played, path)


class GivenEncoder:
    """A stand-in for an encoder that is not here; its features are in the bundle."""

    batch_size = 4096

    def __init__(self, card: ComponentCard, *, reads: bool) -> None:
        """Be the encoder of a card.

        Args:
            reads: whether it has a text tower.
        """
        self.name = card.name
        self.reads = reads
        self.fingerprint = card.fingerprint
        self.provider = card.provider
        self.mark = card.mark
        self.control = card.control
        names = {"provider", "version", "settings", "identity"}
        self.spec = card.model_dump(include=names)

    def fitted(self, texts: Iterable[str]) -> "GivenEncoder":
        return self

    def read_texts(self, texts: Iterable[str]) -> list[PromptUsage]:
        return [
            PromptUsage(0, 0) for _ in texts
        ]  # bundles do not note how much was read

    def encode(self, batch: object) -> Float32:
        raise NotCheckedError(
            f"the bundle lacks features of {self.name}, which is not computed here"
        )

    encode_images = encode_texts = encode


def _encoder(card: ComponentCard, stored: Score) -> Encoder:
    """Return an embedded encoder of the recorded version, or a stand-in.

    An embedded encoder is tried even if its identity differs, by Pillow's version for instance.
    """
    kind: type[Encoder] = Encoder
    if is_embedded("encoders", card.provider):
        with suppress(MissingExtraError, ImportError):
            kind = cast(type[Encoder], provider_class("encoders", card.provider))
            is_checkpoint = issubclass(kind, CheckpointComponent)
            if not is_checkpoint and kind.version == card.version:
                encoder = kind.model_validate(card.settings)
                if encoder.fingerprint and encoder.read_texts(["a"]):
                    return encoder  # its libraries are here
    reads = kind.encode_texts is not Encoder.encode_texts
    if kind is Encoder:  # a stranger's own
        reads = stored.find("clip_s_i") is not None
    return cast(Encoder, GivenEncoder(card, reads=reads))


@dataclass
class BundleFeatures(FeatureStore):
    """The features that encoders give here, or else those of the bundle."""

    bundle: Bundle | None = None
    left_out: set[str] = field(default_factory=set)
    """SHA-256 of pictures that are not in the bundle."""
    taken: set[str] = field(default_factory=set)
    """Encoders whose features were taken from the bundle."""

    def get(self, encoder: Any, seen: Any, batch: Any, make: Any) -> Any:
        """Return features, as :meth:`FeatureStore.get` does."""
        if self.left_out.isdisjoint(batch):
            try:
                return super().get(encoder, seen, batch, make)
            except NotCheckedError as error:
                reason = error
        else:
            reason = NotCheckedError(_LEFT_OUT)
        assert self.bundle is not None
        places, table = self.bundle.features(encoder) or ({}, np.empty((0, 0)))
        digests = batch
        if seen != "images":
            digests = [sha256_bytes(text.encode()) for text in batch]
        if seen == "readings" or not places.keys() >= {*digests}:
            raise reason
        if table.size * min(table.shape) > DISTANCE_COST:
            rows = f"{table.shape[0]:,} features of {table.shape[1]:,} numbers"
            raise NotCheckedError(f"{rows} are more than is computed for a stranger")
        self.taken.add(encoder)
        return table[[places[digest] for digest in digests]]


@dataclass
class StrangersJudge(Judge):
    """Judges values of a bundle, where encoders and pictures may not be here."""

    stored: Score = field(kw_only=True)
    encoders: Mapping[str, Encoder] = field(kw_only=True)
    features: BundleFeatures = field(kw_only=True)

    def __post_init__(self) -> None:
        self._moved = set()
        self._taken = set()
        for role, encoder in self.encoders.items():
            if encoder.fingerprint != self.stored.components[role].fingerprint:
                self._moved.add(role)
            if encoder.fingerprint in self.features.taken or isinstance(
                encoder, GivenEncoder
            ):
                self._taken.add(role)

    def status(self, value: ComparedValue) -> tuple[Status, str]:
        """Return a status, as :meth:`Judge.status` does."""
        metric = self.spec.metrics.get(value.metric)
        part = "" if value.metric else value.way[0]
        if part == "flags" and _is_alarm(value):
            return super().status(value)  # it follows from the records alone
        has_text = part in _WITHOUT_METRIC
        if self.features.left_out and metric and _is_of_pixels(metric):
            return "not checkable", _LEFT_OUT
        needs = _ENCODED if metric is None else metric.needs
        shapes = set()
        if part == "components":
            shapes.add(value.way[1])
        elif value.metric or has_text:
            shapes = {role for role in self.encoders if NEEDED_FOR[role] & needs}
        status, what = super().status(value)
        if status == "reproduced":
            if value.metric and shapes & self._taken:
                return FROM_FEATURES, _FROM_BUNDLE
        elif shapes & self._moved:
            what = "another version of the encoder is installed here"
            return "not checkable", what
        elif self._taken and part == "flags":
            what = "the encoder is not computed here, and bundles do not note how much it read"
            return "not checkable", what
        elif self.features.left_out and has_text:
            return "not checkable", _LEFT_OUT
        return status, what


def _is_alarm(flag: ComparedValue) -> bool:
    sides = (flag.stored, flag.again)
    return any(isinstance(side, dict) and side.get("alarm") for side in sides)


def _is_of_pixels(metric: Metric) -> bool:
    """Return True for a metric that is computed from pixels without an encoder.

    A count is not.
    """
    is_seen = Input.DRAWN in metric.needs and not metric.needs & _ENCODED
    return is_seen and metric.has_direction


def run(path: Path, *, as_json: bool = False, trust_features: bool = False) -> int:
    """Check a bundle, print the result, and return the exit code."""
    try:
        report = check(path, trust_features=trust_features)
    except (BundleError, OSError) as error:
        why = (
            f"cannot be read: {error.strerror}" if isinstance(error, OSError) else error
        )
        print(plain(f"{path} {why}"), file=sys.stderr)
        return 2
    print(json.dumps(report.to_dict(), indent=2) if as_json else report.as_text())
    return report.code
