"""What a benchmark must bring, checked part by part: each sentence names one that is missing or does not fit."""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module

from pydantic import BaseModel

from driftledger.benchmarks.base import DATASET, QUESTION_SET, RECORDS_OF, ROLES, SCORES, Benchmark, Metric
from driftledger.benchmarks.records import CollectedRecord
from driftledger.benchmarks.registry import imported
from driftledger.benchmarks.runner import Runner
from driftledger.benchmarks.settings import Scoring, Section

KEYS = {**ROLES, "description": "description"}
"""Words that a matrix may have beside the dataset or question set → the kind of entry that stands for them."""


def missing_parts(spec: Benchmark) -> list[str]:
    """Everything that is missing, a sentence each."""
    parts = (_names, _stages, _models, _metrics, _rules, _runner)
    return [f"{spec.name}: {each}" for part in parts for each in part(spec)]


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
    for stages, top in ((spec.collects, RECORDS_OF), ((spec.scores,), f"{SCORES}/{{model}}")):
        for stage in stages:
            if not stage.path.startswith(f"{top}/{spec.name}/"):
                yield f"{stage.name}: it does not write below {top}/{spec.name}"
    for stage in (*spec.collects, spec.scores):
        if not {"model", *spec.data.keys} <= {*stage.keys} <= {*spec.data.keys, *KEYS}:
            yield f"{stage.name}: nobody knows what {', '.join(stage.keys)} stand for"
        if sorted(re.findall(r"\{(\w+)\}", stage.path)) != sorted(stage.keys):
            yield f"{stage.name}: its path is not made of its keys: {stage.path}"
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


def _runner(spec: Benchmark) -> Iterator[str]:
    runner = imported(spec.runner)
    if not (inspect.isclass(runner) and issubclass(runner, Runner)):
        yield f"{spec.runner} is no Runner"
    elif inspect.isabstract(runner):
        yield f"{spec.runner} lacks {', '.join(sorted(runner.__abstractmethods__))}"
