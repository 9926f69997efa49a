"""Families: what rests on the same counts as one, and chance is told with it."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from lab.validity.collected import Place
from lab.validity.families import Held, effective_number, families, family_of, together
from lab.validity.iterating import iterating
from lab.validity.ranked import Drawing, Rungs, rank
from lab.validity.scores import Reading
from lab.validity.units import Unit

STAGES = ("early", "middle", "final")
STEPS = {"early": 1, "middle": 2, "final": 3}
DRAWING = Drawing(400, 1)
GC = Place("genception", "shapes", "gc_at_1", "eye", "brush", "")
SSIM = Place("fidelity", "shapes", "ssim", "", "brush", "")
CLIP_S = Place("fidelity", "shapes", "clip_s", "eye", "", "")
TOP1 = Place("trac", "signs", "top1", "words", "", "")
MME = Place("mme", "pairs", "score", "", "", "")


def held(place: Place, columns: Sequence[Sequence[float]], controls: Mapping[str, float] | None = None) -> Held:
    """Of units of one category, stages below each other."""
    names = [f"{number:03}" for number in range(len(columns[0]))]
    readings = {
        stage: Reading(float(np.mean(column)), units={n: Unit(v, "all", n) for n, v in zip(names, column, strict=True)})
        for stage, column in zip(STAGES, columns, strict=True)
    }
    readings |= {name: Reading(value) for name, value in (controls or {}).items()}
    rungs = Rungs(STAGES, STEPS, {}, tuple(controls or ()))
    return Held(place, rank(readings, rungs, higher_is_better=True, drawing=DRAWING), readings, 1.0)


def noisy(seed: int, trend: float = 0.0, n: int = 40) -> list[list[float]]:
    noise = np.random.Generator(np.random.PCG64(seed)).normal(size=(3, n))
    return [(row + trend * place).tolist() for place, row in enumerate(noise)]


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (GC, "redrawn images against images"),
        (SSIM, "redrawn images against images"),
        (CLIP_S, "descriptions against images"),
        (TOP1, "descriptions against descriptions"),
        (MME, "answers: MME"),
    ],
)
def test_a_family_is_what_a_metric_rests_on(place: Place, name: str) -> None:
    assert family_of(place) == name


def test_the_effective_number_is_one_for_copies_and_all_for_strangers() -> None:
    one, other = noisy(1, n=4000), noisy(2, n=4000)
    twice = [[2 * value + 1 for value in row] for row in one]
    assert effective_number([held(GC, one), held(SSIM, twice)], STAGES) == pytest.approx(1.0)
    assert effective_number([held(GC, one), held(SSIM, other)], STAGES) == pytest.approx(2.0, abs=0.01)
    assert effective_number([held(GC, one), held(TOP1, one)], STAGES) == 2.0, "over other images"
    assert effective_number([held(GC, [[1.0] * 4] * 3)], STAGES) is None, "nothing is said of any image"
    assert effective_number([], STAGES) is None


def test_the_effective_number_is_that_of_the_eigenvalues() -> None:
    columns = [noisy(seed, n=50) for seed in range(3)]
    mixed = [columns[0], (np.array(columns[0]) + columns[1]).tolist(), (np.array(columns[1]) - columns[2]).tolist()]
    stacked = np.array([(np.array(each) - np.mean(each, axis=1, keepdims=True)).ravel() for each in mixed])
    roots = np.linalg.eigvalsh(np.corrcoef(stacked))
    found = effective_number([held(GC._replace(metric=f"gc_at_{t}"), each) for t, each in enumerate(mixed, 1)], STAGES)
    assert found == pytest.approx(roots.sum() ** 2 / (roots**2).sum(), abs=1e-9)


def test_three_stages_in_order_are_one_order_in_six_however_many_metrics() -> None:
    rising = [held(GC._replace(metric=f"gc_at_{t}"), noisy(1, trend=9.0)) for t in range(1, 6)]
    (family,) = families(rising, STAGES, DRAWING)
    assert (family.metrics, family.in_order, family.spearman) == (5, 5, 1.0)
    assert family.chance == pytest.approx(1 / 6, abs=1e-6)
    assert family.noise == pytest.approx(1 / 401, abs=1e-6)
    assert family.sets == 1


def test_noise_is_told_from_a_trend() -> None:
    values = [families([held(GC, noisy(seed))], STAGES, DRAWING)[0].noise or 0.0 for seed in range(60)]
    assert 0.35 < np.mean(values) < 0.65
    assert np.mean([value < 0.2 for value in values]) == pytest.approx(0.2, abs=0.15)


def test_families_together_are_as_rare_as_their_orders_that_do_as_well() -> None:
    some = [held(GC, noisy(1, 9.0)), held(TOP1, noisy(2, 9.0)), held(MME, noisy(3, -9.0))]
    found = together(some, STAGES)
    assert (found.families, found.in_order) == (3, 2)
    assert found.chance == pytest.approx(1 / 6, abs=1e-6)


def test_controls_are_counted_by_family() -> None:
    some = [held(GC, noisy(1, 9.0), {"blind": -5.0, "dice": 4.0}), held(SSIM, noisy(2, 9.0), {"blind": -5.0})]
    (family,) = families(some, STAGES, DRAWING)
    assert family.above == {"blind": 2, "dice": 0}
    assert family.apart == {"blind": 2, "dice": 0}


def test_iterating_tells_how_far_stages_lie_apart() -> None:
    steady = [[0.0, 1.0, 2.0], [1.0, 2.0, 4.0], [3.0, 4.0, 7.0]]
    (found,) = iterating([held(GC, steady), held(SSIM, steady)], STAGES)
    differences = np.array([3.0, 3.0, 5.0])
    assert found.ends == pytest.approx(differences.mean() / differences.std(ddof=1), abs=1e-6)
    assert found.closest == pytest.approx((4 / 3) / np.std([1, 1, 2], ddof=1), abs=1e-6)
    assert next(iterating([held(GC, [[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]])], STAGES)).ends is None, "all by the same"
