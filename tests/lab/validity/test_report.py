import hashlib
import json
import re
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftledger.benchmarks.score import Score
from driftledger.core.errors import ConfigError, StoreError
from driftledger.core.files import read_json, write_json
from lab.validity.assembled import Validity, assemble
from lab.validity.measured import MEASURED, Measured, Painter, share
from lab.validity.report import write_validity
from tests.conftest import REPOSITORY
from tests.lab.validity.hand_made import (
    LEVELS,
    RUN,
    SETTINGS,
    STAGES,
    assembled,
    files,
    measured,
    one,
    selecting,
    write_scores,
    written,
)
from tests.support.ledgers import varied
from tests.support.machines import OLDEST, environment

SCORES = "reports/scores"
FINAL = f"{SCORES}/genception/shapes/final/brush_2/eye"
"""The folder of a score."""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_scores(tmp_path_factory.mktemp("stored"))


@pytest.fixture(scope="module")
def found(stored: Path) -> Validity:
    return assembled(stored)


def test_every_metric_is_ranked_through_what_has_a_part_in_it(found: Validity) -> None:
    parts = {(each.metric, each.generator, each.encoder) for each in found.by_model}
    drawn = {(f"gc_at_{t}", by, through) for t in (1, 2, 3) for by in RUN.generators for through in RUN.encoders}
    drawn |= {(f"frechet_{through}", by, through) for by in RUN.generators for through in RUN.encoders}
    once = {("ssim", by, None) for by in RUN.generators} | {("clip_s", None, through) for through in RUN.encoders}
    assert parts == drawn | once | {("top1", None, "words"), ("score", None, None)}
    assert len(found.by_model) == len(parts) + 1, "two question sets"


def test_stages_that_get_better_are_in_order_and_the_control_is_last(found: Validity) -> None:
    for each in found.by_model:
        ranking = each.ranking
        assert (ranking.rises, ranking.spearman, ranking.spearman_measured) == (True, 1.0, 1.0), each
        assert [control.last for control in ranking.controls.values()] == [True, True], each
    gc = one(found.by_model, metric="gc_at_3", generator="brush_2", encoder="eye").ranking
    assert {name: point.value for name, point in gc.values.items()} == {"early": 0.35, "middle": 0.55, "final": 0.75}
    assert (gc.values["early"].low, gc.values["early"].high) == (0.3, 0.4)
    assert gc.disjoint
    assert gc.resampled is not None
    assert (gc.resampled.samples, gc.resampled.rising, gc.resampled.spearman) == (6, 1.0, 1.0)


def test_a_distance_is_better_where_it_is_lower_and_has_nothing_to_resample(found: Validity) -> None:
    distance = one(found.by_model, metric="frechet_eye", generator="brush_1")
    assert not distance.higher_is_better
    assert [distance.ranking.values[name].value for name in STAGES.models] == [80.0, 70.0, 60.0]
    assert distance.ranking.resampled is None
    assert distance.ranking.disjoint is None


def test_mme_gets_the_interval_that_its_score_file_leaves_out(found: Validity) -> None:
    mme = one(found.by_model, benchmark="mme").ranking
    assert mme.values["middle"].value == 140.0
    assert mme.values["middle"].low is not None
    assert mme.values["middle"].high is not None
    assert mme.values["middle"].low < 140.0 < mme.values["middle"].high
    assert mme.resampled is not None
    assert mme.resampled.samples == 10
    sap = one(found.by_model, benchmark="mm_sap").ranking
    assert sap.resampled is not None
    assert sap.resampled.rising < 1, "five images, of which a draw may miss those that tell two stages apart"


def test_a_control_that_sees_more_than_the_first_stage_is_not_last(tmp_path: Path) -> None:
    found = assembled(write_scores(tmp_path, LEVELS | {"blind": 0.5}))
    for each in found.by_model:
        assert each.ranking.rises, each
        assert each.ranking.controls["blind"].last is False, each
        assert each.ranking.controls["dice"].last, each
    assert {family.above["blind"] for family in found.families} == {0}
    assert all(family.above["dice"] == family.metrics for family in found.families)


def test_stages_in_another_order_do_not_rise(tmp_path: Path) -> None:
    found = assembled(write_scores(tmp_path, LEVELS | {"early": 0.6, "middle": 0.4}))
    for each in found.by_model:
        assert (each.ranking.rises, each.ranking.spearman) == (False, 0.5), each
    gc = one(found.by_model, metric="gc_at_1", generator="brush_1", encoder="eye").ranking
    assert gc.resampled is not None
    assert (gc.resampled.rising, gc.resampled.spearman) == (0.0, 0.5)


def test_what_is_lost_is_the_generators_down_to_the_ceiling_and_the_models_below(found: Validity) -> None:
    (drift,) = [each for each in found.drift if (each.t, each.generator) == (2, "brush_1")]
    assert (drift.encoder, drift.ceiling.value, drift.final.value) == ("eye", 0.85, 0.7)
    assert (drift.drift, drift.by_generator, drift.by_model) == (0.3, 0.15, 0.15)
    assert {each.encoder for each in found.drift} == {"eye"}, "the other has no ceiling"


def test_the_better_generator_is_found_under_every_model(found: Validity) -> None:
    for model in (*STAGES.models, "blind"):
        gc = one(found.by_generator, metric="gc_at_3", encoder="eye", model=model).ranking
        assert gc.rises
        assert gc.spearman is None, "of two"
        assert gc.resampled is not None
        assert gc.resampled.rising == 1.0
    faultless = one(found.by_generator, metric="gc_at_3", model=None).ranking
    assert [faultless.values[name].value for name in STAGES.generators] == [0.75, 0.75]
    assert (faultless.rises, faultless.resampled) == (False, None)
    assert "clip_s" not in {each.metric for each in found.by_generator}, "nothing was drawn yet"


def test_the_report_is_the_same_bytes_twice_and_on_the_oldest_machine(stored: Path) -> None:
    first = written(stored)
    assert written(stored) == first
    code = (
        "from tests.lab.validity.test_report import *; import sys; from pathlib import Path\n"
        "for data in written(Path(sys.argv[1])): print(hashlib.sha256(data).hexdigest())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(stored)],
        cwd=REPOSITORY,
        env=environment(OLDEST) | {"PYTHONHASHSEED": "7", "LC_ALL": "tr_TR.UTF-8"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [hashlib.sha256(data).hexdigest() for data in first]


@settings(max_examples=10)
@given(st.sampled_from(list(permutations(STAGES.models.items()))), st.booleans(), st.permutations(RUN.encoders))
def test_the_order_in_which_stages_are_named_does_not_show(
    found: Validity, stored: Path, models: tuple[tuple[str, int], ...], turned: bool, encoders: list[str]
) -> None:
    generators = list(STAGES.generators.items())[:: -1 if turned else 1]
    stages = STAGES._replace(models=dict(models), generators=dict(generators))
    settings = selecting(encoders=tuple(encoders), models=RUN.models[::-1])
    again = assemble(stored, settings, stages, read_json(stored / MEASURED, Measured))
    assert again == found


def test_the_json_file_reads_back_with_six_decimals_and_without_a_minus_before_zero(
    stored: Path, found: Validity
) -> None:
    data = written(stored)[0]
    assert read_json(files(stored)[0], Validity) == found
    assert json.loads(data)["schema"] == 2
    numbers = re.findall(r"-?\d+\.\d+", data.decode())
    assert max(len(number.partition(".")[2]) for number in numbers) <= 6
    assert "-0.0" not in numbers


FILES = {
    "genception": f"{FINAL}/score.json",
    "genception's samples": f"{FINAL}/rows.jsonl",
    "fidelity": f"{SCORES}/fidelity/shapes/final/brush_2/eye/score.json",
    "trac": f"{SCORES}/trac/signs/blind/local/words/score.json",
    "answers": f"{SCORES}/mme/pairs/early/score.json",
    "questions": f"{SCORES}/mm_sap/exam/early/rows.jsonl",
}


@pytest.mark.parametrize("file", FILES.values(), ids=list(FILES))
def test_a_missing_score_file_is_one_sentence_and_nothing_is_written(file: str, tmp_path: Path) -> None:
    root = write_scores(tmp_path)
    (root / file).unlink()
    with pytest.raises(StoreError) as said:
        write_validity(root, SETTINGS, STAGES)
    assert str(said.value) == f"{root / file} is missing; run 'make run-neural', which writes it"
    assert not any(each.exists() for each in files(root))


def test_what_was_not_measured_is_one_sentence(tmp_path: Path) -> None:
    root = write_scores(tmp_path)
    painters = measured().painters
    old = painters | {"brush_2": Painter(199, share([True]), {})}
    without = {"brush_1": painters["brush_1"]}
    for other, said in ((old, "after 199 steps"), (without, "not at all")):
        write_json(root / MEASURED, measured(painters=other))
        with pytest.raises(StoreError, match=f"^brush_2, which has 200 .* {said} among the painters .*measure'$"):
            write_validity(root, SETTINGS, STAGES)
    (root / MEASURED).unlink()
    with pytest.raises(StoreError, match=r"trio\.json is missing; run 'python -m lab.trio measure'"):
        write_validity(root, SETTINGS, STAGES)


def test_scores_that_do_not_belong_together_are_one_sentence(tmp_path: Path) -> None:
    root = write_scores(tmp_path)
    with pytest.raises(ConfigError, match="two or more"):
        assembled(root, STAGES._replace(generators={"brush_1": 50}))
    with pytest.raises(ConfigError, match=r"params\.yaml, the encoder 'eyes' is unknown; did you mean 'eye'"):
        assembled(root, STAGES._replace(encoder="eyes"))
    file = root / FINAL / "score.json"
    write_json(file, varied(read_json(file, Score), iterations=5))
    with pytest.raises(StoreError, match=r"brush_2/eye is of another T than params\.yaml; run 'make run-neural'$"):
        assembled(root)


def test_a_benchmark_that_is_not_selected_is_not_in_the_report(stored: Path) -> None:
    selected = selecting(genception=(), trac=(), mm_sap=(), mme=(), question_sets=())
    found = assemble(stored, selected, STAGES, measured())
    assert {each.benchmark for each in found.by_model} == {"fidelity"}
    assert found.drift == []
