"""Every benchmark, and the one that somebody else adds, has all parts that the rest of the program
reads."""

import inspect
import json
import re
from dataclasses import replace
from importlib import import_module
from math import inf

import pytest

from driftledger.benchmarks.base.records import RECORDS, stream_records
from driftledger.benchmarks.base.settings import Section
from driftledger.benchmarks.base.stage import DATASET, QUESTION_SET
from driftledger.benchmarks.base.traces import values_of, worth_showing
from driftledger.benchmarks.registry import (
    benchmark,
    benchmarks,
    find_score,
    section_text,
)
from driftledger.components.base import ComponentCard
from driftledger.core.canonical import canonical_json
from driftledger.core.errors import ConfigError, StoreError
from driftledger.core.files import parse_json
from driftledger.scoring.metric import Input, Metric, MetricTable
from driftledger.scoring.roles import flags_of
from driftledger.scoring.score import Flag, Score
from driftledger_demo.models.controls import Blind
from tests.support.cases import cases, each_case
from tests.support.ledgers import (
    component,
    fidelity_score,
    genception_score,
    marked,
    question_score,
    row,
    varied,
)
from tests.words.spec import Words

EACH = pytest.mark.parametrize(
    "spec", [*benchmarks(), Words()], ids=lambda spec: spec.name
)


@EACH
def test_its_metrics_are_told_and_computed_by_functions_that_there_are(spec):
    assert "headline" in spec.metrics.first.shown
    assert spec.metrics.first in spec.metrics.glanced
    assert len({metric.name for metric in spec.metrics}) == len([*spec.metrics])
    for metric in spec.metrics:
        assert metric.title, metric.name
        assert metric.formula, metric.name
        assert metric.needs, metric.name
        module, _, function = metric.function.rpartition(".")
        assert callable(getattr(import_module(module), function)), metric.name
        if metric.chance:
            assert spec.metrics[metric.chance].unit == metric.unit, metric.name
    for heads in spec.paper_tables.values():
        for place in heads.values():
            assert "table" in spec.metrics[place.metric].shown


@EACH
def test_its_stages_depend_on_what_shapes_them(spec):
    fields = spec.settings.model_fields
    assert spec.data in (DATASET, QUESTION_SET)
    for stage in spec.stages[1:]:
        assert set(stage.settings) <= fields.keys()
        assert set(stage.keys) <= {*spec.scores.keys}
        assert set(re.findall(r"\{(\w+)\}", stage.path)) == {*stage.keys}
    assert {"min_coverage", "confidence", *spec.scores.beside} <= {
        *spec.scores.settings
    }
    assert issubclass(spec.settings, Section)


@EACH
def test_it_does_all_that_is_asked_of_one(spec):
    assert not inspect.isabstract(type(spec))
    assert all(rule.why for rule in spec.unfair)
    assert spec.unfair


@pytest.mark.parametrize("module", ["words", "tests.words.spec"])
def test_a_benchmark_without_a_file_of_settings_is_named(monkeypatch, module):
    place = "driftledger.benchmarks.registry.benchmark"
    monkeypatch.setattr(place, lambda name: Words())
    monkeypatch.setattr(Words, "__module__", module)
    with pytest.raises(ConfigError, match="the section 'words' is missing"):
        section_text("words")


@pytest.mark.parametrize("spec", benchmarks(), ids=lambda spec: spec.name)
def test_its_score_is_found_by_the_path_of_its_folder_or_of_a_file_in_it(spec):
    keys = {key: f"my_{key}" for key in spec.scores.keys}
    path = spec.scores.at(keys)
    for place in (path, f"{path}/rows.jsonl"):
        found, of = find_score(place) or (None, {})
        assert (found and found.name, of) == (spec.name, keys)
    assert find_score(f"elsewhere/{path.partition('/')[2]}") is None


@each_case(cases(__file__, "wrong_records"))
def test_what_is_no_record_is_one_sentence(tmp_path, case):
    (tmp_path / RECORDS).write_text(
        json.dumps({"schema": 2, **case["line"]}) + "\n", encoding="utf-8"
    )
    with pytest.raises(StoreError, match=case["says"]):
        [*stream_records(tmp_path, ["split"])]


# What a component says of itself is told with every score that it had a part in, whichever
# benchmark makes it.


MARK = "made elsewhere"


def test_a_score_carries_the_marks_of_its_components_before_its_own_flags():
    score = marked(
        question_score("mm_vet", flags=["moved"]), model=MARK, judge="half asleep"
    )
    texts = [flag.text for flag in score.flags]
    assert texts == [MARK, "the judge: half asleep", "moved"]
    blind = marked(genception_score(), encoder="blind")
    assert blind.flags == [Flag(text="the encoder: blind", role="encoder")]
    assert genception_score().flags == []


CUT = "the text encoder read only a part"
BY_GENERATOR = "the generator read only a part"
TOWER = "the text tower read only a part"


@each_case(cases(__file__, "concerned"))
def test_a_flag_is_shown_with_the_numbers_that_it_concerns(case):
    name = case["benchmark"]
    cut = Flag(text=CUT, role="text_encoder")
    drawn = Flag(text=BY_GENERATOR, role="generator")
    own = {
        "genception": [cut, drawn],
        "fidelity": [Flag(text=TOWER, metrics=("clip_s",)), drawn],
    }
    plain = {"genception": genception_score, "fidelity": fidelity_score}[name](
        flags=[MARK, *own[name]]
    )
    score = varied(plain, text_encoder=component("words"))
    assert flags_of(benchmark(name).metrics, score, case["metric"]) == case["flags"]
    assert flags_of(benchmark(name).metrics, score) == [MARK, BY_GENERATOR], (
        "what concerns a headline that it has"
    )


def test_a_mark_comes_back_from_a_file_once_and_cannot_be_taken_out_of_one():
    score = marked(genception_score(flags=["cut"]), model=MARK)
    stored = score.to_dict()
    assert parse_json(canonical_json(stored).encode(), Score, "score.json") == score
    without = canonical_json(stored | {"flags": ["cut"]}).encode()
    assert parse_json(without, Score, "score.json") == score
    with pytest.raises(StoreError, match=r"score\.json is not a Score"):
        parse_json(
            canonical_json(stored | {"flags": MARK}).encode(), Score, "score.json"
        )


def test_a_component_without_a_mark_is_written_as_it_always_was():
    card = ComponentCard.of("blind", Blind())
    assert card.mark is None
    assert "mark" not in card.to_dict()
    assert '"mark"' not in json.dumps(genception_score().to_dict())


# Which units are worth showing step by step.


METRICS = MetricTable(
    Metric(
        "score",
        "the score",
        "",
        "",
        needs=frozenset(Input),
        in_rows=True,
        shown=frozenset({"headline"}),
    )
)
SCORED = fidelity_score(numbers={"score": 0.5})


@each_case(cases(__file__, "worth_showing"))
def test_the_worst_the_best_and_some_between_are_worth_showing(case):
    rows = [row(unit, {"score": values}) for unit, values in case["values"].items()]
    for at_most, expected in case["shown"]:
        shown = worth_showing(METRICS, SCORED, rows, at_most)
        assert [each.unit for each in shown] == expected


def test_a_unit_is_worth_the_mean_over_orders_that_have_a_value():
    worth = values_of(METRICS, SCORED)
    assert worth(row("a", {"score": [1.0, None, 0.0]})) == {"the score": 0.5}
    assert worth(row("a", {"score": [None]})) == {}


def test_an_unread_reply_is_not_worth_the_best_value():
    less = replace(Words.metrics.first, direction="lower", range=(0.0, inf))
    with pytest.raises(TypeError, match=r"Terse.worst is 0.0, the best value of words"):
        type("Terse", (Words,), {"metrics": MetricTable(less)})
    kept = type("Terse", (Words,), {"metrics": MetricTable(less), "worst": 500.0})
    assert kept.worst == 500.0
