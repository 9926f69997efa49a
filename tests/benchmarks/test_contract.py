"""Every benchmark, and the one that somebody else adds, has all parts that the rest of the program reads."""

import inspect
import json
import re
from importlib import import_module
from pathlib import Path

import pytest

from driftledger.benchmarks.base import DATASET, QUESTION_SET, Benchmark
from driftledger.benchmarks.records import RECORDS, read_records
from driftledger.benchmarks.registry import benchmarks, find_score
from driftledger.benchmarks.settings import Scoring, Section
from driftledger.core.errors import StoreError
from tests.support.ledgers import genception_score
from tests.words.spec import Words

EACH = pytest.mark.parametrize("spec", [*benchmarks(), Words()], ids=lambda spec: spec.name)


@EACH
def test_its_metrics_are_told_and_computed_by_functions_that_there_are(spec: Benchmark) -> None:
    assert spec.metrics[0].headline
    assert spec.headline(genception_score(metrics={})) == (spec.metrics[0].key, None)
    assert len({metric.key for metric in spec.metrics}) == len(spec.metrics)
    for metric in spec.metrics:
        assert metric.title, metric.key
        assert metric.formula, metric.key
        assert metric.needs, metric.key
        module, _, function = metric.function.rpartition(".")
        assert callable(getattr(import_module(module), function)), metric.key
    layout = spec.layout
    shown = {*layout.glance, *layout.across, *layout.for_dvc, *layout.bars, *layout.group_bars.values()}
    assert shown <= {metric.key for metric in spec.metrics}


@EACH
def test_its_stages_depend_on_what_shapes_them(spec: Benchmark) -> None:
    fields = spec.settings.model_fields
    assert spec.data in (DATASET, QUESTION_SET)
    for stage in spec.stages[1:]:
        assert set(stage.settings) <= fields.keys()
        assert set(stage.keys) <= {*spec.scores.keys}
        assert set(re.findall(r"\{(\w+)\}", stage.path)) == {*stage.keys}
    depends = {*spec.scoring.model_fields, "min_coverage", *spec.scores.beside} - {"seed"}
    assert depends <= {*spec.scores.settings}
    assert issubclass(spec.settings, Section)
    assert issubclass(spec.scoring, Scoring)


@EACH
def test_it_does_all_that_is_asked_of_one(spec: Benchmark) -> None:
    assert not inspect.isabstract(type(spec))
    assert type(spec).steps is not Benchmark.steps or type(spec).collect is not Benchmark.collect
    assert all(rule.why for rule in spec.unfair)
    assert spec.unfair


@pytest.mark.parametrize("spec", benchmarks(), ids=lambda spec: spec.name)
def test_its_score_is_found_by_the_path_of_its_folder_or_of_a_file_in_it(spec: Benchmark) -> None:
    keys = {key: f"my_{key}" for key in spec.scores.keys}
    path = spec.scores.at(keys)
    for place in (path, f"{path}/rows.jsonl"):
        found, of = find_score(place) or (None, {})
        assert (found and found.name, of) == (spec.name, keys)
    assert find_score(f"elsewhere/{path.partition('/')[2]}") is None


WRONG = {
    "a record of 0.2": ({"sample": "a", "t": 1}, "it is a record of driftledger 0.2, which this version does not read"),
    "a seed of words": ({"unit": "a", "step": 1, "results": [], "extra": {"seed": "x"}}, r"extra\.seed: "),
    "an order of words": ({"unit": "a", "step": 1, "results": [], "extra": {"order": ["x"]}}, r"extra\.order\.0: "),
    "no split": ({"unit": "a", "step": 1, "results": []}, "a, step 1: extra lacks split; run 'dvc repro'"),
    "no step": ({"unit": "a", "results": []}, "step: Field required"),
}


@pytest.mark.parametrize(("line", "sentence"), WRONG.values(), ids=WRONG)
def test_what_is_no_record_is_one_sentence(tmp_path: Path, line: dict[str, object], sentence: str) -> None:
    (tmp_path / RECORDS).write_text(json.dumps({"schema": 2, **line}) + "\n", encoding="utf-8")
    with pytest.raises(StoreError, match=sentence):
        read_records(tmp_path, ["split"])
