"""Every registered benchmark has all its parts, and its pipeline says what its specification says."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
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

WORDS = REPOSITORY / "tests" / "words" / "dvc.yaml"


def pipeline(spec: Benchmark) -> Path:
    return REPOSITORY / "pipelines" / spec.name / "dvc.yaml"


@pytest.mark.parametrize("spec", benchmarks(), ids=lambda spec: spec.name)
def test_nothing_is_missing(spec: Benchmark) -> None:
    assert missing_parts(spec, pipeline(spec)) == []


def test_nothing_is_missing_of_somebody_elses() -> None:
    assert missing_parts(Words(), WORDS) == []


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


def test_every_pipeline_is_of_a_benchmark() -> None:
    folders = {file.parent.name for file in REPOSITORY.glob("pipelines/*/dvc.yaml")}
    assert folders == {spec.name for spec in benchmarks()}


def without(part: str, value: Any = None) -> Callable[[dict[str, Any]], None]:
    """Take something out of the stage ``tell`` of the pipeline."""

    def change(stages: dict[str, Any]) -> None:
        stages["tell"][part].remove(value)

    return change


STAGE_CHANGES: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "stage": (lambda stages: stages.pop("tell"), "words: its pipeline has no stage tell"),
    "more": (
        lambda stages: stages.update(more=stages["tell"]),
        "words: its pipeline has a stage more, and its specification none",
    ),
    "matrix": (lambda stages: stages["tell"]["matrix"].update(model="${run.generators}"), "tell: its matrix is not {'"),
    "command": (
        lambda stages: stages["tell"].update(cmd="driftledger tell"),
        "tell: its command is not driftledger stage words tell ${item.dataset} ${item.model}",
    ),
    "data": (
        without("deps", "data/datasets/${item.dataset}"),
        "stage tell: it does not depend on data/datasets/${item.dataset}",
    ),
    "records": (
        lambda stages: stages["words"]["deps"].pop(),
        "stage words: it does not depend on data/told/${item.dataset}/${item.model}",
    ),
    "path": (
        lambda stages: stages["tell"]["deps"].append("src/driftledger/metrics"),
        "stage tell: it depends on the path src/driftledger/metrics and not on a digest of the code",
    ),
    "seed": (without("params", "run.seed"), "stage tell: run.seed is not one of its params"),
    "setting": (without("params", "words.prompt"), "stage tell: words.prompt is not one of its params"),
    "code": (
        lambda stages: stages["tell"]["params"][-1]["data/resolved.json"].remove("code.words.tell"),
        "stage tell: code.words.tell of data/resolved.json is not one of its params",
    ),
    "component": (
        lambda stages: stages["tell"]["params"][-1]["data/resolved.json"].remove("models.${item.model}"),
        "stage tell: models.${item.model} of data/resolved.json is not one of its params",
    ),
    "words": (
        lambda stages: stages["tell"]["params"][-1]["data/resolved.json"].remove("settings.models.${item.model}"),
        "stage tell: settings.models.${item.model} of data/resolved.json is not one of its params",
    ),
    "outputs": (
        lambda stages: stages["words"]["outs"].pop(),
        "stage words: its outs are not reports/scores/words/${item.dataset}/${item.model}/score.json, reports/",
    ),
    "metrics": (lambda stages: stages["words"].pop("metrics"), "stage words: its metrics are not reports/scores/words"),
    "cache": (
        lambda stages: stages["words"].update(
            metrics=["reports/scores/words/${item.dataset}/${item.model}/metrics.json"]
        ),
        "stage words: its metrics are in DVC's cache and not in Git",
    ),
}


@pytest.mark.parametrize("part", STAGE_CHANGES)
def test_a_missing_part_of_a_pipeline_is_named(part: str, tmp_path: Path) -> None:
    change, expected = STAGE_CHANGES[part]
    content = yaml.safe_load(WORDS.read_text(encoding="utf-8"))
    change(content["stages"])
    file = tmp_path / "dvc.yaml"
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    assert [each for each in missing_parts(Words(), file) if expected in each], missing_parts(Words(), file)


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
    "code": (
        {"scores": replace(Words.scores, code="tests.words.scoring")},
        "words: the code behind it cannot be imported: No module named 'tests.words.scoring'",
    ),
    "record": (
        {"collects": (replace(Words.collects[0], record=None),)},
        "tell: what a line of its records is must be said, and of scores must not",
    ),
    "path": (
        {"collects": (replace(Words.collects[0], path="data/told/{dataset}"),)},
        "tell: its path is not made of its keys in their order: data/told/{dataset}",
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
    assert f"words: {expected}" in missing_parts(spec, WORDS)
