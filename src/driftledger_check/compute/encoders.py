"""What encoders make of images and texts: made again where an encoder is plain arithmetic, else taken from the bundle.

``layout`` and ``tfidf`` compute with whole numbers, decimal logarithms, single quotients and square roots, so that
anybody gets their bits. Those of all others are taken from the bundle, and every number that they shape is marked.
"""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Context, Decimal
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger_check.bundle import Folder, ScoreFiles, Vector
from driftledger_check.compute import values
from driftledger_check.compute.values import Found, MissingError

MOST_CELLS = 2**27
"""Of the features of texts at once: half a gigabyte."""
_WORD = re.compile(r"\w+(?:(?<=\d)[.,]\d+)*(?:(?<=\d)%)?")
_EXACTLY = Context(prec=30)
_BY_ENCODER = "(similarity|gc|gc_samples|image_similarity|sound_similarity|clip_s_i|clip_s|clap_score)"
_BY_TEXT_ENCODER = "(text_similarity|top1|top1_without_leaks|class_mean|nearest|vote|vote_best|vote_best_k|by_.+/top1)"
"""The metrics and curves that the features of an encoder shape, beside its Fréchet distances, as patterns."""


class Picture(NamedTuple):
    """An image in a folder."""

    folder: Folder
    name: str

    @property
    def sha256(self) -> str:
        """Of its file."""
        return str(self.folder.digests(self.name)["sha256"])

    def open(self) -> Image.Image:
        try:
            return self.folder.image(self.name)
        except KeyError:
            raise MissingError(f"{self.folder.path}/{self.name} was left out of the bundle") from None


class Encoder:
    """What plays a role in a score, going by its card."""

    def __init__(self, files: ScoreFiles, role: str, found: Found) -> None:
        card = files.score["components"][role]
        self.provider, self.name, self.fingerprint = (card[key] for key in ("provider", "name", "fingerprint"))
        self._settings, self._features, self._found = card["settings"], files.features, found
        self._portable, metrics = card["version"] == "1", files.score["metrics"]
        both = ("clip", "open_clip", "metaclip", "siglip", "clap")
        shipped = [f"frechet_{each}" for each in (*both, "layout", "vit", "dinov2", "dinov3", "timm", "wav2vec2")]
        own = re.search(r"\b(?:whole_)?(frechet_\w+?)(?:_at_\d+)?\b", " ".join(sorted(metrics)))
        name = f"frechet_{self.provider}"
        self.frechet_name = "fid" if self.provider == "inception" else own[1] if own and name not in shipped else name
        """Only of Inception's features is it the FID; an encoder of somebody's own names it as the score has it."""
        self.reads = self.provider in both or (name not in shipped and not {"clip_s", "clap_score"}.isdisjoint(metrics))
        """Whether it has a tower for texts beside the other."""
        self._shapes = [_BY_TEXT_ENCODER]
        if role == "encoder":
            self._shapes = [_BY_ENCODER, f"(whole_)?{self.frechet_name}"]

    def images(self, pictures: Sequence[Picture]) -> Vector:
        """Raises MissingError where they can be neither computed nor taken."""
        why = ""
        if self.provider == "layout" and self._portable:
            try:
                return np.stack([_layout(picture) for picture in pictures])
            except MissingError as left_out:
                why = str(left_out)
        return self._given([picture.sha256 for picture in pictures], why)

    def texts(self, some: Iterable[str], corpus: Sequence[str]) -> Mapping[str, Vector]:
        """Text → its features; ``corpus`` is what an encoder learns from which words are rare."""
        unique = list(dict.fromkeys(some))
        if self.provider == "tfidf" and self._portable:
            rows = _tfidf(unique, corpus, self._settings)
        else:
            rows = self._given([hashlib.sha256(each.encode()).hexdigest() for each in unique])
        return dict(zip(unique, rows, strict=True))

    def _given(self, digests: Sequence[str], why: str = "") -> Vector:
        places, table = self._features(self.fingerprint) or ({}, np.empty((0, 0), np.float32))
        if not places.keys() >= {*digests}:
            raise MissingError(why or f"the bundle lacks features of {self.name}, which is no part of the checker")
        because = why or f"the encoder {self.name} is no part of the checker"
        self._found.take(
            self._shapes,
            f"{because}: what {self.name} gave is taken as it stands; driftledger verify computes it again",
        )
        return table[[places[each] for each in digests]]


@lru_cache(maxsize=2**14)
def _layout(picture: Picture) -> Vector:
    """Mean colour, an 8×8 colour layout and a 4×4 grid of gradient directions, weighed 3, 5 and 6, and a constant."""
    image = picture.open()
    small = image.resize((8, 8), Image.Resampling.BOX).convert("YCbCr")
    cells = np.asarray(small, dtype=np.int64).reshape(64, 3) - 128
    total = cells.sum(axis=0)
    grey = np.asarray(image.convert("L").resize((64, 64), Image.Resampling.BOX), dtype=np.int64)
    dx, dy = grey[1:-1, 2:] - grey[1:-1, :-2], grey[2:, 1:-1] - grey[:-2, 1:-1]
    way = (dy > 0) * 4 + (dx > 0) * 2 + (abs(dx) > abs(dy))
    row, column = np.indices(dx.shape) * 4 // 62
    edges = np.bincount(((row * 4 + column) * 8 + way).ravel(), (abs(dx) + abs(dy)).ravel(), 128).astype(np.int64)
    parts = ((3, total // 64), (5, (cells * 64 - total).ravel() // 64), (6, edges * 128 // 62**2))
    return np.concatenate([np.ones(1), *(weight * _faintly(part) for weight, part in parts)]).astype(np.float32)


def _faintly(part: NDArray[np.int64]) -> NDArray[np.float64]:
    """At length one, or shorter where there is little: a length of 40 loses 30 %."""
    shortened: NDArray[np.float64] = part / np.sqrt(np.float64(int((part**2).sum()) + 40**2))
    return shortened


def _tfidf(texts: Sequence[str], corpus: Sequence[str], settings: Mapping[str, Any]) -> Vector:
    """Rows of length one; a term that df of n texts hold weighs ln((1 + n) / (1 + df)) + 1."""
    longest = values.whole(settings["ngrams"], 1, 5)
    terms = {each: _terms(each, longest) for each in {*texts, *corpus}}
    counts, df = Counter[str](), Counter[str]()
    for each in corpus:
        counts.update(terms[each])
        df.update(terms[each].keys())
    if not counts:
        raise ValueError("no text that tfidf learns from holds a word")
    known = sorted(
        sorted(counts, key=lambda term: (-counts[term], term))[: values.whole(settings["max_features"], 1, 10**6)]
    )
    if len(texts) * len(known) > MOST_CELLS:
        raise MissingError(f"{len(texts)} texts and {len(known)} terms are more than the checker reads at once")
    n, weights = len(corpus), dict[int, float]()
    for times in set(df.values()):
        ratio = _EXACTLY.divide(Decimal(1 + n), Decimal(1 + times))
        weights[times] = float(_EXACTLY.add(_EXACTLY.ln(ratio), Decimal(1)))
    place, rows = {term: at for at, term in enumerate(known)}, np.zeros((len(texts), len(known)), np.float32)
    for number, each in enumerate(texts):
        own = {place[term]: times * weights[df[term]] for term, times in terms[each].items() if term in place}
        length = math.sqrt(math.fsum(weight * weight for weight in own.values()))
        rows[number, list(own)] = [weight / length for weight in own.values()]
    return rows


def _terms(some: str, longest: int) -> Counter[str]:
    """Words and runs of them."""
    words = _WORD.findall(some.lower())
    runs = (zip(*(words[at:] for at in range(n)), strict=False) for n in range(1, longest + 1))
    return Counter(map(" ".join, chain.from_iterable(runs)))
