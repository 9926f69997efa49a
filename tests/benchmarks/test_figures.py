"""Every benchmark's figures, of the scores that stand in the repository."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from driftledger.benchmarks.base import SideBySide
from driftledger.benchmarks.registry import benchmark, benchmark_names
from driftledger.benchmarks.score import Score
from driftledger.charts.figure import Figure
from driftledger.charts.palette import COLOURS, GREY
from tests.support.params import default_params
from tests.support.shipped import shipped_scores
from tests.support.svg import pale, seen, texts

MODELS = default_params()["run"]["models"]


def blocks(name: str, scores: Sequence[Score] | None = None) -> list[SideBySide]:
    return list(benchmark(name).blocks(shipped_scores(name) if scores is None else scores))


def figures(name: str, scores: Sequence[Score] | None = None) -> dict[str, Figure]:
    """Of the first block, by name."""
    found = list(benchmark(name).figures(blocks(name, scores)[0]))
    assert len({each.name for each in found}) == len(found)
    return {each.name: each for each in found}


@pytest.mark.parametrize("name", benchmark_names())
def test_every_figure_can_be_read_and_its_file_named(name: str) -> None:
    for figure in figures(name).values():
        assert re.fullmatch("[a-z0-9_]+", figure.name)
        assert pale(figure.svg) == []
        assert figure.title in "".join(texts(figure.svg))
        assert len(figure.svg) < 100_000


@pytest.mark.parametrize("name", benchmark_names())
def test_bars_show_the_first_headline_of_every_model_as_the_score_has_it(name: str) -> None:
    spec, block = benchmark(name), blocks(name)[0]
    shown = texts(figures(name)["scores"].svg)
    for score in block.scores:
        key, value = spec.headline(score)
        metric = spec.metric(key)
        assert metric is not None
        assert value is not None
        assert {score.model, f"{value:.{metric.digits}f}"} <= set(shown)


@pytest.mark.parametrize("name", benchmark_names())
def test_a_model_has_its_colour_by_its_place_in_the_selection_and_controls_are_grey(name: str) -> None:
    for block in blocks(name):
        series = {model: look for model, look in block.series.items() if not look.hollow}
        assert [look.colour for look in series.values()] == [*COLOURS[: len(series)]]
        assert list(series) == [model for model in MODELS if model in series]
        assert {model for model, look in block.series.items() if look.colour == GREY} == {
            *("blind", "always_refuse", "random")
        }


def test_chains_have_their_curves_with_bands_where_there_are_intervals() -> None:
    found = figures("genception")
    assert {"scores", "similarity", "gc", "category_gc_at_5"} <= set(found)
    assert found["gc"].title == "GenCeption: GC@t"
    assert "fill-opacity" in found["gc"].svg
    assert "bands are intervals of 95%" in found["gc"].note
    score = shipped_scores("genception")[0]
    [last] = [point.value for point in score.curves["gc"] if point.step == 5]
    assert any(each.told.startswith(f"{score.model}, 5: {last:.3f} (") for each in seen(found["gc"].svg))
    assert {"living", "medical"} <= set(texts(found["category_gc_at_5"].svg))


def test_a_distance_says_that_lower_is_better() -> None:
    assert figures("genception")["frechet_layout"].title == "GenCeption: GC_frechet_layout@t (lower is better)"
    assert "better)" in " ".join(texts(figures("fidelity")["scores"].svg))


def test_self_awareness_stands_over_lines_of_the_same_score() -> None:
    sizes = {"basic": 185, "know": 109, "beyond": 120}
    scores = [score.model_copy(update={"details": {"subsets": sizes}}) for score in shipped_scores("mm_sap")]
    found = figures("mm_sap", scores)
    assert list(found)[:2] == ["quadrants", "answering"]
    drawn = seen(found["quadrants"].svg)
    assert "on a dotted line the self-awareness score is the same" in found["quadrants"].note
    lines = [each.at["points"].split() for each in drawn if each.kind == "polyline"]
    assert len(lines) == 10
    _, end = (float(each) for each in lines[4][-1].split(","))
    [never] = [each for each in drawn if each.text == "0" and each.at.get("text-anchor") == "end"]
    assert end == pytest.approx(never.y - 0.35 * 11, abs=0.2), "a score of 50 can be had by known knowns alone"
    without = [score.model_copy(update={"details": {}}) for score in scores]
    assert "polyline" not in figures("mm_sap", without)["quadrants"].svg


def test_isolines_are_where_the_score_is_that() -> None:
    """By the score's own numbers: a model's point lies between the lines below and above its score."""
    sizes = {"basic": 185, "know": 109, "beyond": 120}
    for score in shipped_scores("mm_sap"):
        knowable, unknowable = sizes["basic"] + sizes["know"], sizes["know"] + sizes["beyond"]
        weighed = score.metrics["known_knowns"] * knowable + score.metrics["known_unknowns"] * unknowable
        assert weighed / sum(sizes.values()) == pytest.approx(score.metrics["score"], abs=1e-9)


def test_position_bias_sets_the_letters_chosen_beside_where_the_right_option_stood() -> None:
    shown = texts(figures("mm_sap")["positions"].svg)
    assert {"A", "E", "100.0", "where the right option stood"} <= set(shown)


def test_a_vote_has_a_line_over_k_and_lengths_stand_evenly() -> None:
    found = figures("trac")
    assert {"vote", "by_length_top1", "classes", "confusion"} <= set(found)
    at = {each.text: each.x for each in seen(found["by_length_top1"].svg) if each.text in ("10", "20", "40", "200")}
    assert at["20"] - at["10"] == pytest.approx(at["40"] - at["20"], abs=0.3)


def test_confusion_is_of_the_best_model_and_its_rows_sum_up() -> None:
    scores = shipped_scores("trac")
    best = max(blocks("trac")[0].scores, key=lambda score: score.metrics["top1"])
    figure = figures("trac")["confusion"]
    assert best.model in figure.title
    cells = [each.told for each in seen(figure.svg) if "·" in each.told]
    labels = sorted(best.groups["class"])
    assert len(labels) < len(cells) < len(labels) ** 2, "classes that are never taken for each other have no cell"
    for label in labels:
        row = [int(told.rpartition(" ")[2]) for told in cells if told.startswith(f"{label} ·")]
        assert sum(row) == pytest.approx(100, abs=5)
    assert scores[0].on in figure.note


def test_a_hostile_group_is_text() -> None:
    hostile = "<script>x</script>"
    scores = [
        score.model_copy(
            update={"groups": {"category": dict.fromkeys((hostile, "b"), score.groups["category"]["OCR"])}}
        )
        for score in shipped_scores("mme")
    ]
    figure = figures("mme", scores)["category_score"]
    assert "<script" not in figure.svg
    assert hostile in texts(figure.svg)
    alone = [s.model_copy(update={"groups": {"category": {"a": s.groups["category"]["b"]}}}) for s in scores]
    assert "category_score" not in figures("mme", alone), "one group says no more than all"


def test_where_coverages_differ_every_block_has_the_same_colours() -> None:
    scores = shipped_scores("mm_vet")
    first, *others = scores
    low = first.model_copy(update={"coverage": 0.5, "counted": 300, "scored": 300})
    found = blocks("mm_vet", [low, *others])
    assert len(found) == 2
    assert found[0].series == found[1].series
    assert {block.name for block in found} == {"mm_vet-scenes_mm_vet", "mm_vet-scenes_mm_vet-apart_2"}


def test_files_are_as_they_were(tmp_path: Path) -> None:
    from driftledger.reports.figures import figures_by_name, write_figures
    from driftledger.reports.sections import by_benchmark

    told = by_benchmark(shipped_scores("mme") + shipped_scores("genception"))
    write_figures(tmp_path / "figures", told)
    names = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert "genception-photos-painter-layout-gc.svg" in names
    assert names == sorted(f"{name}.svg" for name, _ in figures_by_name(told))
    before = {path.name: path.read_bytes() for path in (tmp_path / "figures").iterdir()}
    write_figures(tmp_path / "figures", told)
    assert {path.name: path.read_bytes() for path in (tmp_path / "figures").iterdir()} == before
