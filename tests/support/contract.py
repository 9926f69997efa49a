"""What a benchmark must bring, checked part by part: each sentence names one that is missing or does not fit."""

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from driftledger.benchmarks.base import DATASET, QUESTION_SET, ROLES, SCORES, SECTIONS, Benchmark, Metric, Stage
from driftledger.benchmarks.records import CollectedRecord
from driftledger.benchmarks.registry import imported
from driftledger.benchmarks.runner import Runner
from driftledger.benchmarks.settings import EntryOf, Scoring, Section

KEYS = {**ROLES, "description": "description"}
"""Words that a matrix may have beside the dataset or question set → the kind of entry that stands for them."""

FILES = ("score.json", "rows.jsonl")
IN_GIT = {"cache": False}


def missing_parts(spec: Benchmark, pipeline: Path) -> list[str]:
    """Everything that is missing, a sentence each; the pipeline is held to a specification that misses nothing.

    Args:
        pipeline: its ``dvc.yaml``.
    """
    parts = (_names, _stages, _models, _metrics, _rules, _code)
    said = [f"{spec.name}: {each}" for part in parts for each in part(spec)]
    return said or [f"{spec.name}: {each}" for each in _pipeline(spec, pipeline)]


def _names(spec: Benchmark) -> Iterator[str]:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", spec.name):
        yield f"{spec.name!r} cannot be a folder, a section and a stage"
    if not spec.title:
        yield "it has no title"
    if spec.data not in (DATASET, QUESTION_SET):
        yield "it goes over neither datasets nor question sets"
    if spec.data is QUESTION_SET and spec.questions is None:
        yield "it asks questions, and has no rules of what they must have"
    if not inspect.getdoc(type(spec)):
        yield "its specification has no docstring"


def _stages(spec: Benchmark) -> Iterator[str]:
    if not spec.collects:
        yield "it has no stage that collects"
    if spec.scores.name != spec.name:
        yield f"its scoring stage is called {spec.scores.name}"
    if not spec.scores.path.startswith(f"{SCORES}/{spec.name}/"):
        yield f"its scores are not below {SCORES}/{spec.name}"
    for stage in (*spec.collects, spec.scores):
        if (
            not set(stage.keys) <= {*spec.data.keys, *KEYS}
            or stage.keys[0] != spec.data.keys[0]
            or len(stage.keys) < 2 - stage.apart
        ):
            yield f"{stage.name}: nobody knows what {', '.join(stage.keys)} stand for"
        if re.findall(r"\{(\w+)\}", stage.path) != [*stage.keys]:
            yield f"{stage.name}: its path is not made of its keys in their order: {stage.path}"
        for setting in stage.settings:
            if setting not in spec.settings.model_fields:
                yield f"{stage.name}: its section has no setting {setting}"
        if (stage.record is None) != (stage is spec.scores):
            yield f"{stage.name}: what a line of its records is must be said, and of scores must not"
        elif stage.record is not None and not issubclass(stage.record, CollectedRecord):
            yield f"{stage.name}: its records are no collected records"
    for stage in spec.collects:
        if not set(stage.keys) <= set(spec.scores.keys):
            yield f"{stage.name}: a score does not name all of its keys"
    asked = {setting for stage in spec.collects for setting in stage.settings}
    for name in spec.protocol.model_fields.keys() & spec.settings.model_fields.keys():
        if name not in asked:
            yield f"the protocol depends on {name}, and no stage that collects does"
    for name in {*spec.scoring.model_fields, "min_coverage", *spec.beside} - {"seed"}:
        if name not in spec.scores.settings:
            yield f"scoring depends on {name}, and its stage does not"


def _models(spec: Benchmark) -> Iterator[str]:
    for what, model, base in (
        ("settings", spec.settings, Section),
        ("protocol", spec.protocol, BaseModel),
        ("scoring", spec.scoring, Scoring),
    ):
        if not issubclass(model, base):
            yield f"its {what} is no {base.__name__}"
        if not model.model_config.get("frozen") or model.model_config.get("extra") != "forbid":
            yield f"its {what} can be changed, or takes what it does not know"
    for name in spec.scoring.model_fields.keys() - {"seed"}:
        if name not in spec.settings.model_fields:
            yield f"its section has no {name}, which scoring depends on"
    for name in spec.beside:
        if name not in spec.settings.model_fields:
            yield f"its section has no {name}, which names a file beside the records"


def _metrics(spec: Benchmark) -> Iterator[str]:
    if not any(metric.headline for metric in spec.metrics):
        yield "no metric is a headline"
    elif not spec.metrics[0].headline:
        yield "headlines do not come first"
    keys = [metric.key for metric in spec.metrics]
    for key in {key for key in keys if keys.count(key) > 1}:
        yield f"{key} is in its table twice"
    for metric in spec.metrics:
        for what in ("title", "formula", "source", "needs"):
            if not getattr(metric, what):
                yield f"{metric.key} has no {what}"
        if not _resolves(metric):
            yield f"{metric.key}: there is no function {metric.source.partition(';')[0]} in driftledger.metrics"
        if metric.pairing == "ratio" and not metric.row:
            yield f"{metric.key} is paired by rows, and no row holds it"
    for key in spec.at_a_glance:
        if spec.metric(key) is None:
            yield f"{key} is shown at a glance, and is in no row of its table"


def _resolves(metric: Metric) -> bool:
    module, _, function = metric.source.partition(";")[0].strip().rpartition(".")
    try:
        return callable(getattr(import_module(f"driftledger.metrics.{module}"), function))
    except (ImportError, AttributeError):
        return False


def _rules(spec: Benchmark) -> Iterator[str]:
    known = {*ROLES, *(f"served_{role}" for role in ROLES)}
    known |= spec.protocol.model_fields.keys() | spec.scoring.model_fields.keys()
    known |= set(re.findall(r'"(\w+)"', inspect.getsource(type(spec).facts)))  # those that it adds
    if not spec.unfair:
        yield "nothing makes its scores unfair to compare"
    for rule in spec.unfair:
        if rule.fact not in known:
            yield f"no score tells of {rule.fact}, which is to make a comparison unfair"
        if not rule.why:
            yield f"nobody is told why {rule.fact} makes a comparison unfair"
        for key in rule.concerns or ():
            if key not in [metric.key for metric in spec.metrics]:
                yield f"{rule.fact} is to concern {key}, which is in no row of its table"


def _code(spec: Benchmark) -> Iterator[str]:
    for stage in (*spec.collects, spec.scores):
        try:
            import_module(stage.code)
        except ImportError as error:
            yield f"{stage.name}: the code behind it cannot be imported: {error}"
    runner = imported(spec.runner)
    if not (inspect.isclass(runner) and issubclass(runner, Runner)):
        yield f"{spec.runner} is no Runner"
    elif inspect.isabstract(runner):
        yield f"{spec.runner} lacks {', '.join(sorted(runner.__abstractmethods__))}"


def _pipeline(spec: Benchmark, file: Path) -> Iterator[str]:
    if not file.is_file():
        yield f"there is no pipeline {file.name}"
        return
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    there: Mapping[str, Mapping[str, Any]] = content["stages"]
    if content.get("vars") != ["../../params.yaml"]:
        yield "its pipeline does not read ../../params.yaml"
    done: list[Stage] = []
    for stage in (*spec.collects, spec.scores):
        if stage.name not in there:
            yield f"its pipeline has no stage {stage.name}"
        else:
            before = [] if stage.apart else [each for each in done if not each.apart or stage is spec.scores]
            yield from (f"stage {stage.name}: {each}" for each in _stage(spec, stage, before, there[stage.name]))
        done.append(stage)
    for name in there.keys() - {stage.name for stage in done}:
        yield f"its pipeline has a stage {name}, and its specification none"
    if spec.judged and not any("judge" in _noted(one) for one in there.values()):
        yield "a judge has a part in its scores, and no stage depends on data/resolved.json: judge"


def _stage(spec: Benchmark, stage: Stage, before: Sequence[Stage], there: Mapping[str, Any]) -> Iterator[str]:
    items = {key: f"${{item.{key}}}" for key in stage.keys}
    matrix = {key: f"${{run.{spec.name if key in spec.data.keys else f'{key}s'}}}" for key in stage.keys}
    if there.get("matrix") != matrix:
        yield f"its matrix is not {matrix}"
    if there.get("wdir") != "../..":
        yield "it does not run in the top folder"
    command = f"driftledger stage {spec.name} {stage.name} {' '.join(items.values())}"
    if there.get("cmd") != command:
        yield f"its command is not {command}"
    for folder in (each.at(items) for each in (spec.data, *before)):
        if folder not in there.get("deps", []):
            yield f"it does not depend on {folder}"
    for dep in there.get("deps", []):
        if "src/" in dep:
            yield f"it depends on the path {dep} and not on a digest of the code"
    params = [each for each in there.get("params", []) if isinstance(each, str)]
    for param in ("run.seed", *(f"{spec.name}.{setting}" for setting in stage.settings)):
        if param not in params:
            yield f"{param} is not one of its params"
    for param in _expected(spec, stage, before):
        if param not in _noted(there):
            yield f"{param} of data/resolved.json is not one of its params"
    outs = [stage.at(items)] if stage is not spec.scores else [f"{stage.at(items)}/{name}" for name in FILES]
    metrics = [] if stage is not spec.scores else [f"{stage.at(items)}/metrics.json"]
    for kind, wanted in (("outs", outs), ("metrics", metrics)):
        listed = there.get(kind, [])
        if [each if isinstance(each, str) else next(iter(each)) for each in listed] != wanted:
            yield f"its {kind} are not {', '.join(wanted) or 'none'}"
        if stage is spec.scores and any(isinstance(each, str) or [*each.values()] != [IN_GIT] for each in listed):
            yield f"its {kind} are in DVC's cache and not in Git"


def _noted(there: Mapping[str, Any]) -> list[str]:
    """The keys of ``data/resolved.json`` that a stage depends on."""
    return [key for each in there.get("params", []) if isinstance(each, dict) for key in each["data/resolved.json"]]


def _expected(spec: Benchmark, stage: Stage, before: Sequence[Stage]) -> Iterator[str]:
    """The keys of ``data/resolved.json`` that a stage must depend on: its code, and what no stage before it had."""
    yield f"code.{spec.name}.{stage.name}"
    for key in stage.keys:
        if key in spec.data.keys or any(key in earlier.keys for earlier in before):
            continue
        if key == "description":
            yield from (f"settings.descriptions.${{item.{key}}}", f"examples.${{item.{key}}}")
        else:
            section = SECTIONS[ROLES[key]]
            yield from (f"{section}.${{item.{key}}}", f"settings.{section}.${{item.{key}}}")
    for setting in stage.settings:
        for mark in spec.settings.model_fields[setting].metadata:
            if isinstance(mark, EntryOf) and mark.section in SECTIONS.values():
                yield f"named.{spec.name}.{setting}"
            elif isinstance(mark, EntryOf):
                yield f"settings.{mark.section}.${{{spec.name}.{setting}}}"
        if setting in spec.beside:
            yield f"beside.{spec.name}.{setting}"
