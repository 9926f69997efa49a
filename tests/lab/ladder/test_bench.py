"""A short ladder through the real components: what is collected, what is read of it, and what is written."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from driftledger.demo.datasets.digits import Digits
from driftledger.project.settings import parse_settings
from lab.ladder.bench import FLOOR, Bench, Ground, Readings, Rung
from lab.ladder.climb import KeptRungs, climb, made_of
from lab.ladder.damage import KINDS
from lab.ladder.grounds import Fullest
from lab.ladder.picture import draw_ladder
from lab.ladder.report import Held, LadderReport, assembled
from lab.ladder.table import ladder_tables
from tests.support.params import default_params
from tests.support.svg import pale, texts

SETTINGS = parse_settings(default_params(), "params.yaml")
GROUND = Ground(
    "a few arrangements",
    "regions",
    ("few", Fullest(images=3)),
    ("digits", Digits(support_per_label=1, test_per_label=1)),
    ["painter"],
    ["layout"],
    ["words"],
    losing=(1.0,),
    keeping=(1.0,),
)


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where calls and rungs are kept."""
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def climbed(state: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[Rung, Readings]:
    bench = Bench(SETTINGS, GROUND, tmp_path_factory.mktemp("bench"), state)
    return climb(bench, KeptRungs(state / "rungs", made_of(SETTINGS, GROUND)))


@pytest.fixture(scope="module")
def found(climbed: Mapping[Rung, Readings]) -> LadderReport:
    return assembled({"few": GROUND}, {"few": climbed}, 3)


def held(found: LadderReport, metric: str) -> Held:
    (only,) = [each for each in found.grounds["few"].metrics if each.metric == metric]
    return only


def test_every_kind_is_climbed_from_the_undamaged_to_the_floor(climbed: Mapping[Rung, Readings]) -> None:
    rungs = list(climbed)
    assert rungs[0].dose == 0.0
    assert rungs[-1].kind == FLOOR
    doses = {kind: [rung.dose for rung in rungs[1:] if rung.kind == kind] for kind in KINDS}
    assert doses == {kind: [1.0] for kind in KINDS}


def test_metrics_are_those_of_images_of_texts_and_of_retrieval(climbed: Mapping[Rung, Readings]) -> None:
    names = {(place.benchmark, place.metric) for place in next(iter(climbed.values()))}
    assert names == {
        *(("genception", key) for key in ("gc_at_3", "similarity_at_3", "frechet_layout_at_3", "text_similarity_at_3")),
        *(("fidelity", key) for key in ("image_similarity", "ssim", "frechet_layout")),
        *(("trac", key) for key in ("top1", "class_mean")),
    }


def test_what_is_dropped_is_missed_and_what_is_said_otherwise_is_not(found: LadderReport) -> None:
    gc = {answer.kind: answer for answer in held(found, "gc_at_3").answers}
    assert gc["drop"].slope.value < -0.3
    assert gc["drop"].values[0].value == pytest.approx(1)
    assert gc["paraphrase"].change.value == pytest.approx(0, abs=0.02)
    assert gc["behind"].verdict == gc["before"].verdict == "keeps still"
    assert gc["deny"].change.value == pytest.approx(0, abs=0.02), "the painter draws what is said not to be there"


def test_a_metric_without_units_has_a_slope_and_no_interval(found: LadderReport) -> None:
    distance = held(found, "frechet_layout")
    assert distance.units == 0
    assert {answer.slope.low for answer in distance.answers} == {None}
    assert distance.floor > distance.top, "less is better"


def test_tables_and_picture_show_every_kind(found: LadderReport) -> None:
    told = ladder_tables(found)
    for damage in KINDS.values():
        assert f"- *{damage.title}*: {damage.says}." in told
        assert f"- {damage.title}: " in told
    assert "| GC@3 · painter · layout |" in told
    drawn = draw_ladder(found)
    assert {damage.title for damage in KINDS.values() if damage.loses} <= set(texts(drawn))
    assert pale(drawn) == []


def test_where_the_floor_is_not_below_nothing_is_said_of_a_fall(found: LadderReport) -> None:
    ground = found.grounds["few"]
    flat = [each.__class__(**{**each.__dict__, "answers": []}) for each in ground.metrics]
    alone = found.model_copy(update={"grounds": {"few": ground.__class__(**{**ground.__dict__, "metrics": flat})}})
    assert "it does not put a description above none" in ladder_tables(alone)
    assert draw_ladder(alone).startswith("<svg")


def test_nothing_is_drawn_twice(climbed: Mapping[Rung, Readings], tmp_path: Path) -> None:
    bench = Bench(SETTINGS, GROUND, tmp_path, tmp_path / "calls")
    bench.readings(Rung("drop", 0.0))
    images = sorted((tmp_path / "collected").rglob("1.png"))
    assert len({image.read_bytes() for image in images}) == len(images) // 2 == 3


class StoppedError(Exception):
    """What ends a climb in these tests."""


def test_a_climb_that_was_stopped_goes_on_and_finds_the_same(
    climbed: Mapping[Rung, Readings], state: Path, tmp_path: Path
) -> None:
    """With the calls of the whole climb at hand, so that only scoring takes time."""

    def stop_at_the_third(rung: Rung) -> None:
        asked.append(rung)
        if len(asked) == 3:
            raise StoppedError

    rungs, asked = list(climbed), list[Rung]()
    kept = KeptRungs(tmp_path / "rungs", made_of(SETTINGS, GROUND))
    with pytest.raises(StoppedError):
        climb(Bench(SETTINGS, GROUND, tmp_path / "first", state), kept, stop_at_the_third)
    assert asked == rungs[:3]
    for rung in rungs[3:]:
        kept.keep(rung, climbed[rung])
    kept._file(rungs[4]).write_text("{", encoding="utf-8")
    again: list[Rung] = []
    found = climb(Bench(SETTINGS, GROUND, tmp_path / "second", state), kept, again.append)
    assert again == [rungs[2], rungs[4]]
    assert found == climbed
    assert list(found) == rungs


def test_a_rung_of_other_settings_data_or_components_is_not_taken(
    climbed: Mapping[Rung, Readings], tmp_path: Path
) -> None:
    first = next(iter(climbed))
    of = made_of(SETTINGS, GROUND)
    KeptRungs(tmp_path, of).keep(first, climbed[first])
    assert KeptRungs(tmp_path, of).get(first) == climbed[first]
    params = default_params()
    params["run"]["seed"] = 2
    others = [
        made_of(parse_settings(params, "params.yaml"), GROUND),
        made_of(SETTINGS, GROUND._replace(dataset=("few", Fullest(images=4)))),
        made_of(SETTINGS, GROUND._replace(text_encoders=["tfidf"])),
        made_of(SETTINGS, GROUND._replace(speaker="captions")),
    ]
    assert len({of, *others}) == 5
    assert {KeptRungs(tmp_path, other).get(first) for other in others} == {None}
