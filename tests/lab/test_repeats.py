"""What the study of repeats makes of a score, by numpy."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from driftledger.benchmarks.records import CARD, CollectedCard
from driftledger.benchmarks.scoring import interval
from driftledger.core.files import read_json
from driftledger.project.project import Project
from driftledger.project.settings import parse_settings
from lab.repeats import FLOWS, Bench, Block, Estimate, Measured, Repeats, among, measured, page
from tests.benchmarks.genception.test_repeats import SCORING, AngleGenerator, alone, collect, scored
from tests.conftest import draw
from tests.support.params import default_params, default_text


def test_parts_of_the_variance_are_those_of_a_one_way_analysis(tmp_path: Path) -> None:
    collect(tmp_path, AngleGenerator())
    score, rows = scored(tmp_path)
    ends = partial(interval, "gc_at_3", scoring=SCORING)
    found = measured(score, rows, "gc_at_3", lambda values, groups: ends(values, groups))
    values = np.array([[row.alone(r).values["gc"][2] for r in range(3)] for row in rows], dtype=float)
    within = ((values - values.mean(axis=1, keepdims=True)) ** 2).sum() / (5 * 2)
    means = values.mean(axis=1)
    squares = sum(((some - some.mean()) ** 2).sum() for some in (means[:2], means[2:]))
    assert found.repeats == pytest.approx(within, abs=1e-6)
    assert found.samples == pytest.approx(squares / 3 - within / 3, abs=1e-6)
    assert found.all.value == pytest.approx(score.metrics["gc_at_3"], abs=1e-6)
    assert found.std == pytest.approx(np.std(found.alone), abs=1e-5)
    once = alone(tmp_path, 0)[0].metrics
    assert (found.once.value, found.once.low, found.once.high) == (
        pytest.approx(once["gc_at_3"], abs=1e-6),
        pytest.approx(once["gc_at_3_low"], abs=1e-6),
        pytest.approx(once["gc_at_3_high"], abs=1e-6),
    )


def one(model: str, alone: list[float], samples: float, repeats: float) -> Measured:
    once, every = (
        Estimate(value=alone[0], low=alone[0] - 0.1, high=alone[0] + 0.1),
        Estimate(value=0.5, low=0.45, high=0.55),
    )
    return Measured(model=model, once=once, all=every, std=0.01, alone=alone, samples=samples, repeats=repeats)


def test_the_page_says_how_often_models_change_places() -> None:
    models = [
        one("a_b", [0.5, 0.4, 0.5], 0.03, 0.01),
        one("c", [0.4, 0.5, 0.4], -0.01, 0.01),
        one("d", [0.1] * 3, 0, 0),
    ]
    block = Block(title="photos · painter · layout", metric="GC@5", digits=3, models=models)
    assert block.orders == 2
    told = page(Repeats(blocks={"default": [block]}))
    assert "**GC@5 on photos · painter · layout**: 2 orders of models in 3 repeats" in told
    assert "their intervals are 0.50 (0.50 to 0.50) times as wide as those of one" in told
    rows = [line for line in told.splitlines() if line.startswith("| ")]
    assert [row.split(" | ")[-1] for row in rows[1:]] == ["25.0 % |", "100.0 % |", "– |"]


def test_a_block_takes_the_place_of_an_older_one_and_leaves_the_others() -> None:
    first = Block(title="photos · painter · layout", metric="GC@5", digits=3, models=[one("a", [0.1] * 3, 0, 0)])
    other = Block(title="photos · painter", metric="SSIM", digits=2, models=[])
    again = first.model_copy(update={"models": []})
    assert among([other, first], [again]) == [again, other]
    assert among([], [other, first]) == [first, other]


def test_each_model_is_measured_three_times_under_each_generator(tmp_path: Path) -> None:
    for number in range(4):
        draw(tmp_path / "my_images" / "ab"[number % 2] / f"{number}.png", number)
    params = default_params()
    params["run"] |= {name: [] for name in ("trac", "mm_sap", "mm_vet", "mme", "question_sets")}
    params["run"] |= {"datasets": ["my_images"], "genception": ["my_images"], "fidelity": ["my_images"]}
    params["run"] |= {"models": ["regions_medium"]}
    params["genception"] |= {"iterations": 1, "iterations_by_group": None, "cross_check": []}
    params["datasets"] = {"my_images": {"provider": "image_folder", "path": str(tmp_path / "my_images")}}
    settings = parse_settings(params, "params.yaml")
    (tmp_path / "params.yaml").write_text(default_text(), encoding="utf-8")
    bench = Bench(Project(tmp_path), settings, tmp_path / "bench")
    chained, redrawn = (list(bench.blocks(flow)) for flow in FLOWS)
    assert [(each.metric, each.title) for each in (*chained, *redrawn)] == [
        ("GC@1", "my_images · painter · layout"),
        ("SSIM", "my_images · painter"),
    ]
    [found] = chained[0].models
    assert len(found.alone) == 3
    assert found.once.value == found.alone[0]
    for stage in ("chain", "redraw"):
        card = read_json(tmp_path / "bench" / stage / "my_images" / "regions_medium" / "painter" / CARD, CollectedCard)
        assert card.protocol["repeats"] == 3
