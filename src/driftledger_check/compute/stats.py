"""Means, cosines, votes, the Fréchet distance, SSIM and confidence intervals."""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger_check.bundle import Vector

Array = NDArray[np.float64]
Ids = NDArray[np.int64]
Metrics = dict[str, float]

SIX_DIGITS = 1e-5
"""Relative tolerance of a Fréchet distance: one unit of its sixth digit."""
SIX_DECIMALS = 1e-6
"""Absolute tolerance of an SSIM."""
CELLS = 2**21
"""The most numbers of votes that are computed at once."""
_OFFSETS = np.arange(-5, 6)
_BELL = np.exp(-(_OFFSETS**2) / (2 * 1.5**2))
_WINDOW = _BELL / _BELL.sum()


def mean(values: Collection[float]) -> float:
    """Average values; the sum is rounded once, so that their order does not matter."""
    if not values:
        raise ValueError("there is nothing to average")
    return math.fsum(values) / len(values)


def means(table: Array, *, of_all: bool = False) -> Array:
    """Average along the first axis, leaving out NaN; NaN where nothing is left.

    Args:
        of_all: give NaN also where one of the values is NaN.
    """
    columns = table.reshape(len(table), math.prod(table.shape[1:])).T
    averages = np.full(len(columns), np.nan)
    for number, column in enumerate(columns):
        values = finite(column)
        if values and not (of_all and len(values) < len(column)):
            averages[number] = mean(values)
    return averages.reshape(table.shape[1:])


def finite(values: Array) -> list[float]:
    """Leave out NaN, which stands for a missing value."""
    known: list[float] = values[~np.isnan(values)].tolist()
    return known


def named(names: Sequence[str], values: Array) -> Metrics:
    """Name the values that are not NaN."""
    pairs = zip(names, values.tolist(), strict=True)
    return {name: value for name, value in pairs if not math.isnan(value)}


def mean_and_std(
    name: str,
    values: Sequence[float],
    unit: float = 1.0,
) -> Metrics:
    """Give mean and deviation over repeats; nothing if there are no values.

    The deviation divides by n, as in the papers of MM-SAP and MM-Vet.
    """
    measured = {}
    if values:
        measured[name] = unit * statistics.mean(values)
    if len(values) > 1:
        measured[f"{name}_std"] = unit * statistics.pstdev(values)
    return measured


def cosines(a: Vector, b: Vector) -> list[float]:
    """Compute the cosine of row i of ``a`` and row i of ``b``.

    The product of two float32 is exact in float64, and each sum is rounded once.
    """
    p = a.astype(np.float64)
    q = b.astype(np.float64)
    similarities = []
    for x, y in zip(p, q, strict=True):
        squares = _dot(x, x) * _dot(y, y)
        if not squares:
            raise ValueError(
                "the features of an image or a text are all zeros and have no direction"
            )
        cosine = _dot(x, y) / math.sqrt(squares)
        similarities.append(max(-1.0, min(1.0, cosine)))
    return similarities


def _dot(x: Array, y: Array) -> float:
    return math.fsum((x * y).tolist())


def gc_at(similarities: Sequence[float], t: int) -> float:
    """GC@t = Σ i·s⁽ⁱ⁾ / Σ i, i = 1 … t (GenCeption, equation 3; of distances, equation 4)."""
    weighted = [i * similarity for i, similarity in enumerate(similarities[:t], 1)]
    return math.fsum(weighted) / (t * (t + 1) // 2)


def gc(similarities: Array) -> Array:
    """GC@1 … GC@T of each row of n×T similarities or distances; NaN from a missing one on."""
    scores = np.empty(similarities.shape)
    for number, row in enumerate(similarities.tolist()):
        scores[number] = [gc_at(row, t) for t in range(1, len(row) + 1)]
    return scores


def places(names: Iterable[str]) -> dict[str, list[int]]:
    """Map each name to its places, in the order of the names."""
    of_name = defaultdict(list)
    for place, name in enumerate(names):
        of_name[name].append(place)
    return dict(sorted(of_name.items()))


def pick(items: Any, keys: Iterable[Any]) -> list[Any]:
    """List the items of these keys or places."""
    return [items[key] for key in keys]


def rounded_cosines(queries: NDArray[Any], known: NDArray[Any]) -> Array:
    """Compute q×n cosines, 0 for a row of zeros.

    They are rounded to 9 decimals, so that equal ones are ties on every processor.
    """
    return np.round(_units(queries) @ _units(known).T, 9)


def _units(rows: NDArray[Any]) -> Array:
    """Scale rows to length one."""
    wide = rows.astype(np.float64)
    lengths = np.sqrt((wide * wide).sum(axis=1, keepdims=True))
    units: Array = wide / np.where(lengths == 0, 1, lengths)
    return units


def votes(ranked: Ids, classes: int) -> Ids:
    """Compute what the 1 … K nearest neighbours vote for (TRAC, section 3.2.1).

    Args:
        ranked: q×K classes of neighbours, the nearest first.

    Returns:
        q×K classes; of several with equally many votes, the one whose member is nearest.
    """
    most = ranked.shape[1]
    chunk = max(1, CELLS // (most * classes))
    winners = []
    for start in range(0, len(ranked), chunk):
        members = ranked[start : start + chunk, :, None] == np.arange(classes)
        nearest = np.where(
            members.any(axis=1),
            members.argmax(axis=1),
            most,
        )
        ballots = members.cumsum(axis=1) * (most + 1) + most - nearest[:, None, :]
        winners.append(ballots.argmax(axis=2))
    return np.concatenate(winners)


def frechet_distance(a: Vector, b: Vector) -> float:
    """‖μa − μb‖² + tr Σa + tr Σb − 2·tr((Σa Σb)^½), at least 0 (Heusel et al. 2017).

    It has six significant digits. With Σa = AᵀA and Σb = BᵀB, the trace of (Σa Σb)^½ is the nuclear
    norm of A Bᵀ: no matrix root is taken. With A = QR, Σa = RᵀR: R, which is small, replaces A.
    """
    p, p_mean, p_trace = _moments(a)
    q, q_mean, q_trace = _moments(b)
    traces = p_trace + q_trace
    shift = p_mean - q_mean
    spread = traces - 2 * float(np.linalg.svd(p @ q.T, compute_uv=False).sum())
    noise = max(*a.shape, *b.shape) * float(np.finfo(np.float64).eps) * traces
    distance = float(shift @ shift) + (spread if spread > noise else 0.0)
    return float(format(distance, ".6g"))


def _moments(features: Vector) -> tuple[Array, Array, float]:
    """Return R, where RᵀR is the unbiased covariance; the mean; the trace of the covariance."""
    wide = features.astype(np.float64)
    center: Array = wide.mean(axis=0)
    root = (wide - center) / np.sqrt(len(wide) - 1)
    upper: Any = np.linalg.qr(root, mode="r")
    return (
        upper,
        center,
        float((root**2).sum()),
    )


def ssim(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
    """Average the SSIM of all windows of two grey images: from −1 to 1, to 6 decimals.

    Wang et al. 2004: Gaussian windows of 11×11 with σ = 1.5, K1 = 0.01, K2 = 0.03, L = 255.
    """
    x = a.astype(np.float64)
    y = b.astype(np.float64)
    x_mean = _blurred(x)
    y_mean = _blurred(y)
    squares = _blurred(x * x + y * y)
    products = _blurred(x * y)
    c1 = (0.01 * 255) ** 2
    c2 = (0.03 * 255) ** 2
    mean_squares = x_mean * x_mean + y_mean * y_mean
    above = (2 * x_mean * y_mean + c1) * (2 * (products - x_mean * y_mean) + c2)
    below = (mean_squares + c1) * (squares - mean_squares + c2)
    return round(float((above / below).mean()), 6) + 0.0


def _blurred(image: Array) -> Array:
    """Sum every window with weights, first along rows, then along columns."""
    for _ in range(2):
        size = len(image) - len(_WINDOW) + 1
        total = np.zeros(())
        for start, weight in enumerate(_WINDOW):
            total = total + weight * image[start : start + size]
        image = np.ascontiguousarray(total.T)
    return image


class Intervals(NamedTuple):
    """Confidence intervals: Student's t for means of group means, Wilson's for shares."""

    confidence: float

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "Intervals":
        """Read the confidence from the settings of a score."""
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
    ) -> Metrics:
        """Give the interval of the mean of group means, whose values are in [bottom, top].

        Satterthwaite 1946, Welch 1947, Bell and McCaffrey 2002. The variance of a group of two or
        three clusters is at least the pooled one of larger groups. A cluster may be in several
        groups. There is no interval if a group has a single cluster, or if no value differs and so
        few clusters would agree by chance.
        """
        spreads = []  # variance, degrees of freedom and clusters of each group's mean
        centers = []
        moves: dict[str, float] = defaultdict(float)
        for rows in places(groups).values():
            n = len(rows)
            center = sum(map(Fraction, pick(values, rows)), Fraction()) / n
            centers.append(float(center))
            residuals: dict[str, Fraction] = defaultdict(Fraction)
            for row in rows:
                residuals[clusters[row]] += Fraction(values[row]) - center
            sizes = Counter(pick(clusters, rows))
            if len(sizes) == 1:
                return {}
            variance = Fraction()
            for cluster, residual in residuals.items():
                weight = n * (n - sizes[cluster])
                variance += residual * residual / weight
                moves[cluster] += float(residual) / math.sqrt(weight)
            spreads.append(
                (
                    float(variance),
                    _degrees(sizes),
                    len(sizes),
                )
            )
        if not spreads:
            return {}
        variances, degrees, counts = np.array(spreads).T
        pooled = 0.0
        is_large = counts > 3
        if is_large.any():
            pooled = math.fsum((variances * counts * degrees)[is_large])
            pooled /= math.fsum(degrees[is_large])
        parts = np.where(
            is_large,
            variances,
            np.maximum(variances, pooled / counts),
        )
        total = math.fsum(parts)
        if total:
            shares = math.fsum((parts / total) ** 2 / degrees)
            df = min(1 / shares, len(moves) - 1.0)
        elif 2.0 ** (1 - len(moves)) > 1 - self.confidence + 1e-12:
            return {}
        else:
            df = float((counts - 1).sum())
        # A cluster in several groups moves all their means.
        shared = math.fsum(move * move for move in moves.values()) - math.fsum(
            variances
        )
        error = math.sqrt(max(0.0, total + shared)) / len(spreads)
        half = self.t(df) * error
        low = max(mean(centers) - half, bottom)
        return _ends(
            key,
            low,
            min(mean(centers) + half, top),
        )

    def of_hits(
        self,
        key: str,
        hits: Sequence[float],
        clusters: Sequence[str],
        unit: float,
        variance: float = 0.0,
    ) -> Metrics:
        """Give the interval of the mean of independent hits from 0 to 1, times ``unit``.

        Wilson 1927. It is of fewer hits where they are copies, which come in clusters (Kish 1965),
        or where their mean has a further ``variance``; of more where hits between 0 and 1 scatter
        less.
        """
        n = len(hits)
        share = mean(hits)
        scatter = 1.0
        if min(hits) < max(hits):
            scatter = mean([(hit - share) ** 2 for hit in hits]) / (share * (1 - share))
        copies = sum(size * size for size in Counter(clusters).values()) / (n * n)
        smoothed = (math.fsum(hits) + 2) / (n + 4)
        answers = 1 / (scatter * copies + variance / (smoothed - smoothed * smoothed))
        return _wilson(
            key,
            share,
            n=answers,
            t=self.t(math.inf),
            unit=unit,
        )

    def of_ratio(
        self,
        key: str,
        above: Iterable[float],
        below: Iterable[int],
        clusters: Sequence[str],
        unit: float,
    ) -> Metrics:
        """Give the interval of Σ above / Σ below over clustered questions, times ``unit``.

        Wilson's, of R(1 − R) / V answers, where V and its degrees of freedom are those of Bell and
        McCaffrey 2002. A single cluster has none.
        """
        hits: dict[str, Fraction] = defaultdict(Fraction)
        sizes = Counter[str]()
        for cluster, hit, size in zip(clusters, above, below, strict=True):
            hits[cluster] += Fraction(hit)
            sizes[cluster] += size
        sizes = +sizes  # those that count
        if len(sizes) < 2:
            return {}
        total = sizes.total()
        ratio = sum(pick(hits, sizes)) / Fraction(total)
        squares = []
        for cluster, size in sizes.items():
            residual = hits[cluster] - ratio * size
            squares.append(float(residual * residual / (total * (total - size))))
        variance = math.fsum(squares)
        share = float(ratio)
        answers = (
            share * (1 - share) / variance if variance > 1e-28 else float(len(sizes))
        )
        t = self.t(_degrees(sizes))
        return _wilson(
            key,
            share,
            n=answers,
            t=t,
            unit=unit,
        )

    def t(self, degrees: float) -> float:
        """Return the quantile of Student's distribution for both ends."""
        return t_quantile(1 - self.confidence, degrees)


def _degrees(sizes: Counter[str]) -> float:
    """Return the degrees of freedom of a mean over clusters (Bell and McCaffrey 2002).

    With the share w of each cluster, 1 / (Σ w² + Σ_{c≠d} w_c²·w_d² / ((1 − w_c)(1 − w_d))).
    """
    size = np.array(list(sizes.values()), dtype=np.float64)
    total = size.sum()
    squares = (size / total) ** 2
    shares = squares * total / (total - size)
    crossed = math.fsum(shares) ** 2 - math.fsum(shares * shares)
    return 1 / (math.fsum(squares) + crossed)


def _wilson(
    key: str,
    share: float,
    *,
    n: float,
    t: float,
    unit: float,
) -> Metrics:
    """Give Wilson's interval of a share of n answers; an end at 0 or 1 is exact."""
    part = t * t / n
    middle = share + part / 2
    scale = 1 + part
    half = math.sqrt(part * (share * (1 - share) + part / 4))
    low = (middle - half) / scale if share > 0 else 0.0
    high = (middle + half) / scale if share < 1 else 1.0
    return _ends(
        key,
        unit * low,
        unit * high,
    )


def _ends(
    key: str,
    low: float,
    high: float,
) -> Metrics:
    return {
        f"{key}_low": low,
        f"{key}_high": high,
    }


@lru_cache(maxsize=1000)
def t_quantile(doubt: float, degrees: float) -> float:
    """Find by bisection the t beyond which, on both sides, is a share ``doubt``."""
    if math.isinf(degrees):
        return statistics.NormalDist().inv_cdf(1 - doubt / 2)
    low = 0.0
    high = 1.0
    while _tails(high, degrees) > doubt:
        low = high
        high = 2 * high
    while low < (middle := (low + high) / 2) < high:
        if _tails(middle, degrees) > doubt:
            low = middle
        else:
            high = middle
    return low


def _tails(t: float, v: float) -> float:
    """I_x(v/2, 1/2) at x = v / (v + t²), by DLMF 8.17.8 on the side that converges faster."""
    x = v / (v + t * t)
    if x < 0.5:
        return _beta(x, v / 2, 0.5)
    return 1 - _beta(
        t * t / (v + t * t),
        0.5,
        v / 2,
    )


def _beta(
    x: float,
    a: float,
    b: float,
) -> float:
    """Sum the series of DLMF 8.17.8."""
    start = a * math.log(x) + b * math.log1p(-x)
    start += math.lgamma(a + b)
    start -= math.lgamma(a)
    start -= math.lgamma(b)
    term = math.exp(start) / a
    total = term
    n = 0
    while term > 1e-17 * total:
        term *= x * (a + b + n) / (a + 1 + n)
        total += term
        n += 1
    return total
