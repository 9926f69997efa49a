"""Every registered benchmark has all its parts."""

from dataclasses import replace
from typing import Any

import pytest
import yaml

from driftledger.benchmarks.base import Benchmark, Rule
from driftledger.benchmarks.registry import benchmarks
from driftledger.commands.upgrade import differing
from driftledger.project.project import Project
from tests.conftest import REPOSITORY
from tests.support.contract import missing_parts
from tests.support.params import default_settings
from tests.words.spec import Words


@pytest.mark.parametrize("spec", benchmarks(), ids=lambda spec: spec.name)
def test_nothing_is_missing(spec: Benchmark) -> None:
    assert missing_parts(spec) == []


def test_nothing_is_missing_of_somebody_elses() -> None:
    assert missing_parts(Words()) == []


@pytest.mark.parametrize("spec", benchmarks(), ids=lambda spec: spec.name)
def test_params_has_its_section_and_its_list(spec: Benchmark) -> None:
    settings = default_settings()
    assert settings.run.over(spec.name)
    assert isinstance(settings.section(spec.name), spec.settings)
    assert list(spec.selection(settings))


@pytest.mark.parametrize("spec", benchmarks(), ids=lambda spec: spec.name)
def test_its_pictures_are_outputs_of_the_report(spec: Benchmark) -> None:
    report = yaml.safe_load((REPOSITORY / "dvc.yaml").read_text(encoding="utf-8"))["stages"]["report"]
    assert {f"reports/{name}" for name in spec.pictures} <= {next(iter(out)) for out in report["outs"]}


def test_the_repository_has_what_the_package_writes() -> None:
    assert differing(Project(REPOSITORY)) == []


METRIC = Words.metrics[0]

SPEC_CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "title": ({"title": ""}, "it has no title"),
    "no metrics": ({"metrics": ()}, "no metric is a headline"),
    "headline": ({"metrics": (replace(METRIC, headline=False),)}, "no metric is a headline"),
    "metric's title": ({"metrics": (replace(METRIC, title=""),)}, "words has no title"),
    "formula": ({"metrics": (replace(METRIC, formula=""),)}, "words has no formula"),
    "needs": ({"metrics": (replace(METRIC, needs=frozenset()),)}, "words has no needs"),
    "source": (
        {"metrics": (replace(METRIC, source="exact.mean; nobody"),)},
        "words: there is no function exact.mean in driftledger.metrics",
    ),
    "twice": ({"metrics": (METRIC, METRIC)}, "words is in its table twice"),
    "glance": ({"at_a_glance": ("letters",)}, "letters is shown at a glance, and is in no row of its table"),
    "rule": (
        {"unfair": (Rule("promt", "a typo"),)},
        "no score tells of promt, which is to make a comparison unfair",
    ),
    "no rules": ({"unfair": ()}, "nothing makes its scores unfair to compare"),
    "record": (
        {"collects": (replace(Words.collects[0], record=None),)},
        "tell: what a line of its records is must be said, and of scores must not",
    ),
    "place": (
        {"collects": (replace(Words.collects[0], path="data/told/{model}/{dataset}"),)},
        "tell: it does not write below data/records/{model}/words",
    ),
    "path": (
        {"collects": (replace(Words.collects[0], path="data/records/{model}/words/told"),)},
        "tell: its path is not made of its keys: data/records/{model}/words/told",
    ),
    "key": (
        {"collects": (replace(Words.collects[0], keys=("dataset", "author")),)},
        "tell: nobody knows what dataset, author stand for",
    ),
    "setting": (
        {"collects": (replace(Words.collects[0], settings=("promt",)),)},
        "tell: its section has no setting promt",
    ),
    "protocol": (
        {"collects": (replace(Words.collects[0], settings=()),)},
        "the protocol depends on prompt, and no stage that collects does",
    ),
    "scoring": (
        {"scores": replace(Words.scores, settings=("min_coverage",))},
        "scoring depends on confidence, and its stage does not",
    ),
    "runner": ({"runner": "tests.words.spec:Words"}, "tests.words.spec:Words is no Runner"),
    "unfinished runner": (
        {"runner": "driftledger.benchmarks.runner:Runner"},
        "driftledger.benchmarks.runner:Runner lacks callers, collecting, score",
    ),
}


@pytest.mark.parametrize("part", SPEC_CHANGES)
def test_a_missing_part_of_a_specification_is_named(part: str) -> None:
    changes, expected = SPEC_CHANGES[part]
    spec = type("Changed", (Words,), {**changes, "__doc__": Words.__doc__})()
    assert f"words: {expected}" in missing_parts(spec)
