"""Means, cosines, votes, the Fréchet distance, SSIM and confidence intervals."""

import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger_check.bundle import Vector

Array = NDArray[np.float64]

SIX_DIGITS = 1e-5
"""A unit of the sixth digit, relatively: how far a Fréchet distance may be off."""
SIX_DECIMALS = 1e-6
"""How far an SSIM may be off."""
CELLS = 2**21
"""Numbers computed at once."""
_WEIGHTS = np.exp(-(np.arange(-5, 6) ** 2) / (2 * 1.5**2))


def mean(values: Collection[float]) -> float:
    """From a sum that is rounded once, whatever the order of its values."""
    if not values:
        raise ValueError("there is nothing to average")
    return math.fsum(values) / len(values)


def over_repeats(repeats: Sequence[Array]) -> Array:
    """The mean of each entry over the repeats that have one; NaN where none has."""
    columns = zip(*(each.ravel().tolist() for each in repeats), strict=True)
    there = ([value for value in column if not math.isnan(value)] for column in columns)
    return np.array([mean(some) if some else math.nan for some in there]).reshape(repeats[0].shape)


def finite(values: Array) -> list[float]:
    """Without NaN, which says that there is no value."""
    return [value for value in values.tolist() if not math.isnan(value)]


def mean_and_std(name: str, values: Sequence[float], unit: float = 1.0) -> dict[str, float]:
    """Over repeats; the deviation divides by n, as the papers of MM-SAP and MM-Vet do. Nothing over nothing."""
    if not values:
        return {}
    std = {f"{name}_std": unit * statistics.pstdev(values)} if len(values) > 1 else {}
    return {name: unit * statistics.mean(values)} | std


def cosines(a: Vector, b: Vector) -> list[float]:
    """Of row i of both. A product of two float32 is exact in float64, and each sum is rounded once."""

    def dots(x: Array, y: Array) -> list[float]:
        return [math.fsum((u * v).tolist()) for u, v in zip(x, y, strict=True)]

    p, q = a.astype(np.float64), b.astype(np.float64)
    squares = [x * y for x, y in zip(dots(p, p), dots(q, q), strict=True)]
    if not all(squares):
        raise ValueError("the features of an image or a text are all zeros and have no direction")
    return [max(-1.0, min(1.0, dot / math.sqrt(square))) for dot, square in zip(dots(p, q), squares, strict=True)]


def gc_at(similarities: Sequence[float], t: int) -> float:
    """Σ i·s⁽ⁱ⁾ / Σ i over the first t iterations (GenCeption, section 2.2); NaN where one of them is."""
    return math.fsum(i * s for i, s in enumerate(similarities[:t], 1)) / (t * (t + 1) // 2)


def places(names: Iterable[str]) -> dict[str, list[int]]:
    """Name → where it is, in the order of the names."""
    found: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        found.setdefault(name, []).append(place)
    return dict(sorted(found.items()))


def by_group(columns: Mapping[str, Array], members: Sequence[str]) -> dict[str, dict[str, float]]:
    """Group → column → the mean over its members; NaN is left out, and so is a mean over nothing."""
    return {
        name: {key: mean(there) for key, column in columns.items() if (there := finite(column[rows]))}
        for name, rows in places(members).items()
    }


def mean_of(rows: Sequence[Mapping[str, float]], *, of_all: bool) -> dict[str, float]:
    """Column → the mean of the rows' means, each counting once; ``of_all``: only where every row has one."""
    values: dict[str, list[float]] = {}
    for row in rows:
        for key, value in row.items():
            values.setdefault(key, []).append(value)
    return {key: mean(some) for key, some in values.items() if not of_all or len(some) == len(rows)}


def rounded_cosines(queries: NDArray[Any], known: NDArray[Any]) -> Array:
    """q×n, to 9 decimals, so that equal ones are ties on every processor; 0 for a row of zeros."""

    def units(rows: NDArray[Any]) -> Array:
        wide = rows.astype(np.float64)
        lengths = np.sqrt((wide * wide).sum(axis=1, keepdims=True))
        found: Array = wide / np.where(lengths == 0, 1, lengths)
        return found

    return np.round(units(queries) @ units(known).T, 9)


def votes(ranked: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    """q×K classes of neighbours, nearest first → q×K: what the first 1 … K of them vote for; of several that are even,
    the one whose member is nearest."""
    most, winners = ranked.shape[1], []
    for start in range(0, len(ranked), several := max(1, CELLS // (most * classes))):
        there = ranked[start : start + several, :, None] == np.arange(classes)
        first = np.where(there.any(axis=1), there.argmax(axis=1), most)
        winners.append((there.cumsum(axis=1) * (most + 1) + most - first[:, None, :]).argmax(axis=2))
    return np.concatenate(winners)


def frechet_distance(a: Vector, b: Vector) -> float:
    """‖μa − μb‖² + tr Σa + tr Σb − 2·tr((Σa Σb)^½), at least 0 (Heusel et al. 2017), to six significant digits.

    With Σa = AᵀA and Σb = BᵀB, the trace of (Σa Σb)^½ is the nuclear norm of A Bᵀ: no matrix root is taken. A = QR
    leaves Σa = RᵀR, so that R may stand for A, however many rows that has.
    """
    (p, p_mean, p_trace), (q, q_mean, q_trace) = map(_moments, (a, b))
    traces, shift = p_trace + q_trace, p_mean - q_mean
    spread = traces - 2 * float(np.linalg.svd(p @ q.T, compute_uv=False).sum())
    noise = max(*a.shape, *b.shape) * float(np.finfo(np.float64).eps) * traces
    return float(format(float(shift @ shift) + (spread if spread > noise else 0.0), ".6g"))


def _moments(features: Vector) -> tuple[Array, Array, float]:
    """R, with RᵀR the unbiased covariance; the mean; and the trace of the covariance."""
    wide = features.astype(np.float64)
    centre: Array = wide.mean(axis=0)
    root = (wide - centre) / np.sqrt(len(wide) - 1)
    upper: Any = np.linalg.qr(root, mode="r")
    return upper, centre, float((root**2).sum())


def ssim(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
    """The mean over all windows within two grey images: in [−1, 1], 1 where they are equal, to 6 decimals.

    Wang et al. 2004: Gaussian windows of 11×11 with σ = 1.5, K1 = 0.01, K2 = 0.03, L = 255.
    """
    x, y = a.astype(np.float64), b.astype(np.float64)
    mx, my, squares, products = (_blurred(each) for each in (x, y, x * x + y * y, x * y))
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    means = mx * mx + my * my
    above = (2 * mx * my + c1) * (2 * (products - mx * my) + c2)
    below = (means + c1) * (squares - means + c2)
    return round(float((above / below).mean()), 6) + 0.0


def _blurred(image: Array) -> Array:
    """Weighed sums over every window, first of rows, then of columns."""
    for _ in range(2):
        size = len(image) - len(_WEIGHTS) + 1
        windows = (weight * image[at : at + size] for at, weight in enumerate(_WEIGHTS / _WEIGHTS.sum()))
        image = np.ascontiguousarray(sum(windows, np.zeros(())).T)
    return image


class Intervals(NamedTuple):
    """All of one confidence: Student's t of a mean of group means, Wilson's of a share, and both over clusters."""

    confidence: float

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "Intervals":
        confidence: float = settings["confidence"]
        if not 0 < confidence < 1:
            raise ValueError(f"a confidence of {confidence} is not between 0 and 1")
        return cls(confidence)

    def of_mean(
        self,
        key: str,
        values: Sequence[float],
        groups: Sequence[str],
        clusters: Sequence[str],
        bottom: float = -1.0,
        top: float = 1.0,
    ) -> dict[str, float]:
        """Of the mean over groups of the mean over their values, which are from ``bottom`` to ``top``; nothing where a
        group has a single cluster, or where so few do not differ at all that they would agree in a sign by chance.

        Satterthwaite 1946, Welch 1947, Bell and McCaffrey 2002; groups of two or three clusters are taken to vary at
        least as larger ones do, pooled. A cluster may be in several groups.
        """
        sides = []
        means = []
        moves: dict[str, float] = {}
        for rows in places(groups).values():
            middle = statistics.mean([Fraction(values[at]) for at in rows])
            means.append(float(middle))
            n = len(rows)
            sums = {
                name: (sum(Fraction(values[rows[at]]) - middle for at in some), len(some))
                for name, some in places(clusters[at] for at in rows).items()
            }
            if len(sums) == 1:
                return {}
            variance = sum((off * off / (n * (n - size)) for off, size in sums.values()), Fraction(0))
            sides.append(_Side(float(variance), _degrees([size for _, size in sums.values()]), len(sums)))
            for name, (off, size) in sums.items():
                moves[name] = moves.get(name, 0.0) + float(off) / math.sqrt(n * (n - size))
        larger = [side for side in sides if side.clusters > 3]
        least = 0.0
        if larger:
            least = math.fsum(side.variance * side.clusters * side.degrees for side in larger)
            least /= math.fsum(side.degrees for side in larger)
        parts = [side.variance if side.clusters > 3 else max(side.variance, least / side.clusters) for side in sides]
        total = math.fsum(parts)
        if not total and 2.0 ** (1 - len(moves)) > 1 - self.confidence + 1e-12:  # so few agree by chance
            return {}
        degrees = float(sum(side.clusters - 1 for side in sides))
        if total:
            shares = [(part / total) ** 2 / side.degrees for part, side in zip(parts, sides, strict=True)]
            degrees = min(1 / math.fsum(shares), len(moves) - 1.0)
        crossed = math.fsum(move * move for move in moves.values()) - math.fsum(side.variance for side in sides)
        error = math.sqrt(max(0.0, total + crossed)) / len(sides)
        whole, half = mean(means), self.t(degrees) * error
        return {f"{key}_low": max(whole - half, bottom), f"{key}_high": min(whole + half, top)}

    def of_hits(
        self, key: str, hits: Sequence[float], clusters: Sequence[str], unit: float, variance: float = 0.0
    ) -> dict[str, float]:
        """Of ``unit`` times the mean of hits from 0 to 1, all of them independent (Wilson 1927) but for copies, which
        come in clusters (Kish 1965): of fewer, if their mean varies more, and of more, if hits between 0 and 1 scatter
        less."""
        n, share = len(hits), mean(hits)
        alone = sum(size * size for size in Counter(clusters).values()) / (n * n)
        smoothed = (math.fsum(hits) + 2) / (n + 4)
        scatter = 1.0
        if min(hits) < max(hits):
            scatter = mean([(hit - share) ** 2 for hit in hits]) / (share * (1 - share))
        answers = 1 / (scatter * alone + variance / (smoothed - smoothed * smoothed))
        return _wilson(key, share, answers, self.t(math.inf), unit)

    def of_ratio(
        self, key: str, above: Iterable[float], below: Iterable[int], clusters: Sequence[str], unit: float
    ) -> dict[str, float]:
        """Of ``unit`` · Σ above / Σ below over questions, which come in clusters; nothing where there is one alone.

        Wilson's, for R(1 − R) / V answers; V and its degrees of freedom are those of Bell and McCaffrey 2002.
        """
        sums: dict[str, list[Fraction]] = {}
        for cluster, p, q in zip(clusters, above, below, strict=True):
            both = sums.setdefault(cluster, [Fraction(0), Fraction(0)])
            both[0] += Fraction(p)
            both[1] += q
        each = [(p, q) for p, q in sums.values() if q]
        if len(each) < 2:
            return {}
        hits, total = (sum(side) for side in zip(*each, strict=True))
        squares = (float((total * p - hits * q) ** 2 / (total**3 * (total - q))) for p, q in each)
        variance = math.fsum(squares)
        degrees = _degrees([q for _, q in each])
        share = float(hits / total)
        answers = share * (1 - share) / variance if variance > 1e-28 else float(len(each))
        return _wilson(key, share, answers, self.t(degrees), unit)

    def t(self, degrees: float) -> float:
        """The quantile of Student's distribution that both ends are as far off as."""
        return t_quantile(1 - self.confidence, degrees)


class _Side(NamedTuple):
    """How far the mean of one group may be off."""

    variance: float
    degrees: float
    clusters: int


def _degrees(sizes: Sequence[int | Fraction]) -> float:
    """Return the degrees of freedom of a mean over clusters of these sizes (Bell and McCaffrey 2002)."""
    total = sum(sizes, Fraction(0))
    shares = [float(size * size / (total * (total - size))) for size in sizes]
    crossed = math.fsum(shares) ** 2 - math.fsum(share * share for share in shares)
    return 1 / (math.fsum(float(size * size / (total * total)) for size in sizes) + crossed)


def _wilson(key: str, share: float, n: float, t: float, unit: float) -> dict[str, float]:
    part = t * t / n
    middle, whole = share + part / 2, 1 + part
    half = math.sqrt(part * (share * (1 - share) + part / 4))
    low, high = (middle - half) / whole if share > 0 else 0.0, (middle + half) / whole if share < 1 else 1.0
    return {f"{key}_low": unit * low, f"{key}_high": unit * high}


@lru_cache(maxsize=1000)
def t_quantile(doubt: float, degrees: float) -> float:
    """The t that a share ``doubt`` of the distribution exceeds, on both sides together, by bisection."""
    if math.isinf(degrees):
        return statistics.NormalDist().inv_cdf(1 - doubt / 2)
    low, high = 0.0, 1.0
    while _tails(high, degrees) > doubt:
        low, high = high, 2 * high
    while low < (between := (low + high) / 2) < high:
        low, high = (between, high) if _tails(between, degrees) > doubt else (low, between)
    return low


def _tails(t: float, v: float) -> float:
    """I_x(v/2, 1/2) at x = v / (v + t²), by the series of DLMF 8.17.8 on the side where it converges faster."""
    x = v / (v + t * t)
    return _beta(x, v / 2, 0.5) if x < 0.5 else 1 - _beta(t * t / (v + t * t), 0.5, v / 2)


def _beta(x: float, a: float, b: float) -> float:
    start = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    term = total = math.exp(start) / a
    n = 0
    while term > 1e-17 * total:
        term *= x * (a + b + n) / (a + 1 + n)
        total += term
        n += 1
    return total
