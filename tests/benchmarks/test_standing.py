"""Who is told apart by a number, from the rows behind scores."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from driftledger.benchmarks.figures import score_bars
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.standing import Standings
from driftledger.benchmarks.tables import controls_above, group_tables, misplaced, ordered, places
from driftledger.metrics.exact import exact_mean
from tests.support.description_ledgers import fidelity_score
from tests.support.ledgers import component, varied
from tests.support.svg import texts

SETTINGS = {"bootstrap": {"resamples": 200, "confidence": 0.95}, "ssim_side": 256, "seed": 7, "ratings": None}


def scored(model: str, values: Sequence[float], provider: str = "") -> tuple[Score, list[Row]]:
    """SSIM of so many images."""
    plain = fidelity_score(model=model, metrics={"ssim": exact_mean(values)}, coverage=1.0)
    score = varied(plain, settings=SETTINGS, model=component(model, **({"provider": provider} if provider else {})))
    rows = [
        Row(
            unit=f"u{n}",
            group="all",
            cluster=f"u{n}",
            outcome="ok",
            values={"ssim": [value]},
            extra={"category": "abc"[n % 3]},
        )
        for n, value in enumerate(values)
    ]
    return score, rows


def standings(*some: tuple[Score, list[Row]]) -> Standings:
    rows: Mapping[str, Any] = {score.model: rows for score, rows in some}
    return Standings(benchmark("fidelity"), [score for score, _ in some], lambda score: rows[score.model])


HIGH, CLOSE, LOW = ([base + 0.1 * n for n in range(9)] for base in (50.0, 49.99, 40.0))
CLOSE = [value + (0.2 if n % 2 else -0.2) for n, value in enumerate(CLOSE)]


def test_models_that_cannot_be_told_apart_share_a_rank_and_a_letter() -> None:
    standing = standings(scored("low", LOW), scored("high", HIGH), scored("close", CLOSE)).of("ssim")
    assert standing is not None
    assert standing.groups.ranks == {"high": 1, "close": 1, "low": 3}
    assert standing.groups.letters == {"high": "a", "close": "a", "low": "b"}
    assert standing.groups.best == {"high", "close"}
    assert standing.controls == {}


def test_controls_are_no_part_of_the_groups_and_are_placed_beside_each_model() -> None:
    some = scored("low", LOW), scored("high", HIGH), scored("blind", CLOSE, "blind")
    standing = standings(*some).of("ssim")
    assert standing is not None
    assert standing.groups.ranks == {"high": 1, "low": 2}
    assert standing.controls == {("blind", "high"): 0, ("blind", "low"): 1}
    [metric] = [metric for metric in benchmark("fidelity").metrics if metric.key == "ssim"]
    scores = [score for score, _ in some]
    values = [score.metrics["ssim"] for score in scores]
    assert controls_above(scores, values, metric) == {"blind": ["low"]}
    assert misplaced(scores, values, metric) == " (control above 1 of 2)"
    assert [score.model for score in ordered(scores, dict(zip(["low", "high", "blind"], values, strict=True)))] == [
        *("high", "low", "blind")
    ]
    assert [place.rank for place in places(scores, values, metric)] == [2, 1, None]
    assert [place.letters for place in places(scores, values, metric, standing)] == ["b", "a", ""]
    assert [place.best for place in places(scores, values, metric, standing)] == [False, True, False]


def test_names_in_heads_and_figures_have_the_letters_of_the_whole() -> None:
    spec = benchmark("fidelity")
    some = scored("low", LOW), scored("high", HIGH), scored("close", CLOSE), scored("blind", LOW, "blind")
    parts = [
        score.model_copy(update={"groups": {"category": {name: {"ssim": score.metrics["ssim"]} for name in "ab"}}})
        for score, _ in some
    ]
    [block] = spec.blocks(parts)
    untested = [table for table in group_tables(spec, parts, block) if table.name == "category_ssim"]
    assert (untested[0].head, untested[0].notes) == (["", "low", "high", "close", "blind (control)"], [])
    block = block._replace(standings=standings(*some))
    [table] = [table for table in group_tables(spec, parts, block) if table.name == "category_ssim"]
    assert table.head == ["", "low (b)", "high (a)", "close (a)", "blind (control)"]
    assert table.notes == ["Letters beside names are by SSIM as a whole: models that share one cannot be told apart."]
    shown = score_bars(spec, block, ["ssim"])
    assert {"low (b)", "high (a)", "close (a)", "blind"} <= set(texts(shown.svg))
    assert "models that share a letter cannot be told apart" in shown.note
    several = score_bars(spec, block, ["ssim", "image_similarity"])
    assert {"low", "high", "close", "blind"} <= set(texts(several.svg)), "names stand once beside several metrics"
    assert "share a letter" not in several.note


def test_groups_have_their_own_rows() -> None:
    score, rows = scored("low", LOW)
    score = score.model_copy(update={"groups": {"category": {"a": {"ssim": exact_mean(LOW[::3])}}}})
    other, beside = scored("high", HIGH)
    other = other.model_copy(update={"groups": {"category": {"a": {"ssim": exact_mean(HIGH[::3])}}}})
    found = standings((score, rows), (other, beside)).of("category/a/ssim")
    assert found is not None
    assert found.groups.letters == {"high": "a", "low": "a"}, "three images show nothing"
    assert found.groups.best == frozenset()


@pytest.mark.parametrize("number", ["fid", "words", "ssim_low", "nothing", "category/a/ssim"])
def test_what_rows_do_not_make_or_nobody_has_is_not_tested(number: str) -> None:
    high, rows = scored("high", HIGH)
    high = high.model_copy(update={"metrics": high.metrics | {"fid": 3.0, "words": 7.0, "ssim_low": 1.0}})
    found = standings((high, rows), scored("low", LOW)).of(number)
    assert found is None or not found.groups.ranks


def test_rows_that_do_not_give_the_score_s_number_are_not_believed() -> None:
    high, rows = scored("high", HIGH)
    assert standings((high, rows[1:]), scored("low", LOW)).of("ssim") is None
    assert standings((high, []), scored("low", LOW)).of("ssim") is None
