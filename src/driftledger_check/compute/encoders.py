"""Features of images and texts: computed where an encoder is plain arithmetic, else taken.

``layout`` and ``tfidf`` compute with whole numbers, decimal logarithms, single quotients
and square roots, so that everybody gets the same bits. The features of all others are
taken from the bundle, and every number that follows from them is marked.
"""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger_check.bundle import Folder, ScoreFiles, Vector
from driftledger_check.compute.stats import Array, pick
from driftledger_check.compute.values import Computed, MissingError, bounded

MOST_CELLS = 2**27
"""The most numbers in the features of texts: half a gigabyte."""
_WORD = re.compile(r"\w+(?:(?<=\d)[.,]\d+)*(?:(?<=\d)%)?")
_EXACTLY = Context(prec=30)
_OF_IMAGES_AND_TEXTS = ("clip", "open_clip", "metaclip", "siglip", "clap")
_OF_IMAGES = ("layout", "vit", "dinov2", "dinov3", "timm", "wav2vec2")
_OF_OWN = re.compile(r"(?:whole_)?(frechet_\w+?)(?:_at_\d+)?")
_BY_ENCODER = (
    "similarity",
    "gc",
    "gc_samples",
    "image_similarity",
    "sound_similarity",
    "clip_s_i",
    "clip_s",
    "clap_score",
)
"""Metrics and curves from an encoder's features, beside its Fréchet distances."""
_BY_TEXT_ENCODER = (
    "text_similarity",
    "top1",
    "top1_without_leaks",
    "class_mean",
    "nearest",
    "vote",
    "vote_best",
    "vote_best_k",
    "ties",
    "tied",
    "by_.+/top1",
)
"""Patterns of metrics and curves from a text encoder's features."""


class Picture(NamedTuple):
    """An image in a folder."""

    folder: Folder
    name: str

    @property
    def sha256(self) -> str:
        """The SHA-256 of its file."""
        return str(self.folder.digests(self.name)["sha256"])

    def open(self) -> Image.Image:
        """Read the image; MissingError if the bundle left it out."""
        try:
            return self.folder.image(self.name)
        except KeyError:
            path = f"{self.folder.path}/{self.name}"
            raise MissingError(f"{path} was left out of the bundle") from None


class Encoder:
    """The encoder or text encoder of a score, by its card."""

    def __init__(
        self,
        files: ScoreFiles,
        role: str,
        computed: Computed,
    ) -> None:
        self._card = files.score["components"][role]
        self._features = files.features
        self._computed = computed
        metrics = files.score["metrics"]
        provider = self._card["provider"]
        is_shipped = provider in (*_OF_IMAGES_AND_TEXTS, *_OF_IMAGES)
        self.frechet_name = _frechet_name(provider, is_shipped, sorted(metrics))
        self.reads_texts = provider in _OF_IMAGES_AND_TEXTS
        """True if it has a tower for texts beside the one for images or sounds."""
        if not is_shipped and ("clip_s" in metrics or "clap_score" in metrics):
            self.reads_texts = True
        self._shapes: tuple[str, ...] = _BY_TEXT_ENCODER
        if role == "encoder":
            self._shapes = (*_BY_ENCODER, f"(whole_)?{self.frechet_name}")

    def images(self, pictures: Sequence[Picture]) -> Vector:
        """Compute the features of images, or take them; MissingError if neither works."""
        why = ""
        if self._is_portable("layout"):
            try:
                return np.stack([_layout(picture) for picture in pictures])
            except MissingError as left_out:
                why = str(left_out)
        return self._taken([picture.sha256 for picture in pictures], why)

    def texts(
        self, texts: Iterable[str], corpus: Sequence[str]
    ) -> Mapping[str, Vector]:
        """Map each text to its features.

        Args:
            corpus: the texts from which an encoder learns which words are rare.
        """
        unique = list(dict.fromkeys(texts))
        if self._is_portable("tfidf"):
            rows = _tfidf(unique, corpus, self._card["settings"])
        else:
            digests = [hashlib.sha256(text.encode()).hexdigest() for text in unique]
            rows = self._taken(digests)
        return dict(zip(unique, rows, strict=True))

    def _is_portable(self, provider: str) -> bool:
        return (self._card["provider"], self._card["version"]) == (provider, "1")

    def _taken(self, digests: Sequence[str], why: str = "") -> Vector:
        """Look up features in the bundle, and mark the metrics that follow from them."""
        name = self._card["name"]
        features = self._features(self._card["fingerprint"])
        places: Mapping[str, int] = {}
        table: Vector = np.empty((0, 0), np.float32)
        if features:
            places, table = features
        if not places.keys() >= {*digests}:
            lacks = (
                f"the bundle lacks features of {name}, which is no part of the checker"
            )
            raise MissingError(why or lacks)
        why = why or f"the encoder {name} is no part of the checker"
        taken = f"what {name} gave is taken as it stands"
        advice = "driftledger verify computes it again"
        self._computed.take(self._shapes, f"{why}: {taken}; {advice}")
        return table[pick(places, digests)]


def _frechet_name(
    provider: str,
    is_shipped: bool,
    metrics: Iterable[str],
) -> str:
    """Name the Fréchet distance; it is the FID only with Inception's features."""
    if provider == "inception":
        return "fid"
    if not is_shipped:  # a user's own encoder names it as the score has it
        for metric in metrics:
            if own := _OF_OWN.fullmatch(metric):
                return own[1]
    return f"frechet_{provider}"


@lru_cache(maxsize=2**14)
def _layout(picture: Picture) -> Vector:
    """Compute mean colour, an 8×8 colour layout and a 4×4 grid of gradient directions.

    Their weights are 3, 5 and 6; a constant is before them.
    """
    image = picture.open()
    small = image.resize((8, 8), Image.Resampling.BOX).convert("YCbCr")
    cells = np.asarray(small, dtype=np.int64).reshape(64, 3) - 128
    total = cells.sum(axis=0)
    grey_image = image.convert("L").resize((64, 64), Image.Resampling.BOX)
    grey = np.asarray(grey_image, dtype=np.int64)
    dx = grey[1:-1, 2:] - grey[1:-1, :-2]
    dy = grey[2:, 1:-1] - grey[:-2, 1:-1]
    direction = (dy > 0) * 4 + (dx > 0) * 2 + (abs(dx) > abs(dy))
    row, column = np.indices(dx.shape) * 4 // 62
    bins = (row * 4 + column) * 8 + direction
    size = abs(dx) + abs(dy)
    edges = np.bincount(
        bins.ravel(),
        size.ravel(),
        minlength=128,
    ).astype(np.int64)
    parts = [
        np.ones(1),
        3 * _shortened(total // 64),
        5 * _shortened((cells * 64 - total).ravel() // 64),
        6 * _shortened(edges * 128 // 62**2),
    ]
    return np.concatenate(parts).astype(np.float32)


def _shortened(part: NDArray[np.int64]) -> Array:
    """Scale to at most length one; a length of 40 loses 30 %."""
    squares = int((part**2).sum())
    scaled: Array = part / np.sqrt(np.float64(squares + 40**2))
    return scaled


def _tfidf(
    texts: Sequence[str],
    corpus: Sequence[str],
    settings: Mapping[str, Any],
) -> Vector:
    """Compute rows of length one.

    A term that df of n texts hold has the weight ln((1 + n) / (1 + df)) + 1.
    """
    longest = bounded(settings["ngrams"], 1, 5)
    most = bounded(settings["max_features"], 1, 10**6)
    terms = {text: _terms(text, longest) for text in {*texts, *corpus}}
    counts = Counter[str]()
    df = Counter[str]()
    for text in corpus:
        counts.update(terms[text])
        df.update(terms[text].keys())
    if not counts:
        raise ValueError("no text that tfidf learns from holds a word")
    by_count = sorted(counts, key=lambda term: (-counts[term], term))
    known = sorted(by_count[:most])
    if len(texts) * len(known) > MOST_CELLS:
        size = f"{len(texts)} texts and {len(known)} terms"
        raise MissingError(f"{size} are more than the checker reads at once")
    weights = {}
    for times in set(df.values()):
        ratio = _EXACTLY.divide(Decimal(1 + len(corpus)), Decimal(1 + times))
        weights[times] = float(_EXACTLY.add(_EXACTLY.ln(ratio), Decimal(1)))
    columns = {term: column for column, term in enumerate(known)}
    rows = np.zeros((len(texts), len(known)), np.float32)
    for row, text in zip(rows, texts, strict=True):
        own = {}
        for term, times in terms[text].items():
            if term in columns:
                own[columns[term]] = times * weights[df[term]]
        length = math.sqrt(math.fsum(weight * weight for weight in own.values()))
        row[list(own)] = [weight / length for weight in own.values()]
    return rows


def _terms(text: str, longest: int) -> Counter[str]:
    """Count the words, and the runs of up to ``longest`` words."""
    words = _WORD.findall(text.lower())
    terms = Counter[str]()
    for length in range(1, longest + 1):
        for start in range(len(words) - length + 1):
            terms[" ".join(words[start : start + length])] += 1
    return terms
